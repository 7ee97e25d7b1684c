"""A server on 127.0.0.1 that keeps every POST: a webhook, or what stands for Slack or PagerDuty."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.servers.started import Started


class Post(NamedTuple):
    """One request: ``at`` is monotonic, ``headers`` have lower-case names."""

    at: float
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


class Webhook(Started):
    """Answers each POST with 202 and JSON that PagerDuty's client accepts, and keeps it."""

    def __init__(self) -> None:
        self.posts: list[Post] = []
        posts = self.posts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                posts.append(Post(time.monotonic(), self.path, headers, body))
                self.send_response(202)
                self.end_headers()
                self.wfile.write(b'{"status": "success"}')

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        """Listen."""
        self._thread.start()

    def stop(self) -> None:
        """Close the socket."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def at(self, path: str) -> list[Post]:
        """Those to a path."""
        return [post for post in self.posts if post.path == path]
