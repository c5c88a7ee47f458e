"""Config files for the two daemons, in one place: a test names only what it is about."""


def edge_settings(port, origins, listener=None, pool=None, host="127.0.0.1", **more):
    """A redirector with one listener and one pool. listener and pool add to theirs, further names to the file."""
    return {
        "listeners": [{"address": f"{host}:{port}", **(listener or {})}],
        "pools": [{"name": "main", "origins": [{"address": origin} for origin in origins], **(pool or {})}],
        **more,
    }


def gateway_settings(port, inner, listener=None, **more):
    return {
        "listeners": [
            {
                "address": f"127.0.0.1:{port}",
                "policy": "sniff",
                "trusted_edges": ["127.0.0.0/8"],
                **(listener or {}),
            }
        ],
        "inner": inner,
        **more,
    }
