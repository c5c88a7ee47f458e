"""A C program built against ppv2.h and the shared library serves clients behind a proxy by their real address."""
import socket
import subprocess
import sys

HEADER = b"PROXY TCP4 203.0.113.7 198.51.100.25 51512 443\r\n"
V2 = bytes.fromhex("0d0a0d0a000d0a515549540a2111000ccb007107c6336419c93801bb")


def talk(port, source, pieces):
    with socket.create_connection(("127.0.0.1", port), 5, (source, 0)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            client.sendall(piece)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while chunk := client.recv(4096):
                answer += chunk
        except ConnectionResetError:
            pass
        return answer


def main():
    origin = subprocess.Popen([sys.argv[1], "127.0.0.1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        port = int(origin.stdout.readline())
        greeting = b"hello 203.0.113.7:51512, you said hi"
        assert talk(port, "127.0.0.1", [HEADER + b"hi"]) == greeting
        assert talk(port, "127.0.0.1", [V2[:9], V2[9:20], V2[20:] + b"hi"]) == greeting
        assert talk(port, "127.0.0.1", [b"hi"]).endswith(b", you said hi")
        assert talk(port, "127.0.0.2", [HEADER + b"hi"]) == b"", "a stranger's claim was taken"
        assert talk(port, "127.0.0.2", [b"hi"]).startswith(b"hello 127.0.0.2:")
        assert talk(port, "127.0.0.1", [b"PROXY TCP4 0203.0.113.7 198.51.100.25 51512 443\r\nhi"]) == b""
    finally:
        origin.kill()
        origin.wait()


main()
