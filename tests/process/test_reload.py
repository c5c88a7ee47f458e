"""SIGHUP without a keeper: what of a changed file is in force at once, and what is said to wait for a restart."""

import json
import os
import signal

from ravelin import wire
from ravelin.case import ProcessTest
from ravelin.ports import free_port
from ravelin.settings import edge_settings, gateway_settings


class Reload(ProcessTest):
    def reload(self, daemon, path, settings):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        os.kill(daemon.pid, signal.SIGHUP)

    def test_the_level_of_the_log_changes_at_once_whatever_else_has_changed(self):
        origin = self.server(wire.echo)
        files = {
            "redirector": lambda port, **more: edge_settings(port, [origin.address], **more),
            "gateway": lambda port, **more: gateway_settings(port, origin.address, **more),
        }
        for name, settings in files.items():
            with self.subTest(name):
                port, other = free_port(), free_port()
                path = self.write(f"{name}.yaml", json.dumps(settings(port)))
                daemon = self.daemon(name, "--config", path, "--keeper=false", ports=[port])
                self.reload(daemon, path, settings(other, log={"level": "debug"}))
                applied = daemon.wait_event("reloaded")["applied"]
                self.assertEqual(applied, "log.level")
                self.assertIn("listeners[0].address", daemon.wait_event("restart_needed")["settings"])
                self.assertRegex(daemon.admin.get("/config")[1], r'level: "?debug')
