"""A real S3 server (moto's) behind a proxy that is slow, throttles, and breaks uploads."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Faults:
    """What the proxy does to requests from now on; shares of them, drawn by a seeded chance."""

    latency: float = 0.0  # seconds
    throttled: float = 0.0  # answered 503 SlowDown, not passed on
    broken: float = 0.0  # the connection is cut: before the store has it, or after, with the answer lost
    down: bool = False  # nothing is passed on
    seen: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def faulty_store(seed: int = 0) -> Iterator[tuple[str, Faults]]:
    """(URI of an empty bucket, its faults): the URI may be opened by anyone in this machine."""
    from moto.server import ThreadedMotoServer

    store = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    store.start()
    _, port = store.get_host_and_port()
    faults, chance, lock = Faults(), random.Random(seed), threading.Lock()

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self._body()
            with lock:
                draw = chance.random()
                faults.seen.append((self.command, self.path))
            time.sleep(faults.latency)
            if faults.down or draw < faults.throttled:
                self._answer(503, [], b"<Error><Code>SlowDown</Code><Message>Please reduce your rate</Message></Error>")
                return
            broken = draw - faults.throttled < faults.broken
            if broken and draw * 1000 % 2 < 1:  # never arrives
                self.connection.close()
                return
            status, headers, content = self._passed_on(body)
            if broken:
                self.connection.close()
                return
            self._answer(status, headers, content)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)

        def _passed_on(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            onward = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "transfer-encoding"}
            onward.request(self.command, self.path, body, headers | {"Content-Length": str(len(body))})
            answer = onward.getresponse()
            content = answer.read()
            onward.close()
            return answer.status, answer.getheaders(), content

        def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
            self.send_response(status)
            dropped = {"transfer-encoding", "connection", "content-length", "date", "server"}
            length = dict((name.lower(), value) for name, value in headers).get("content-length")
            for name, value in headers:
                if name.lower() not in dropped:
                    self.send_header(name, value)
            self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    proxy.daemon_threads = True
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        made = http.client.HTTPConnection("127.0.0.1", port)
        for method, path in (("POST", "/moto-api/reset"), ("PUT", "/bucket")):  # the server's state is the process's
            made.request(method, path)
            made.getresponse().read()
        yield f"s3://bucket/sweeps?endpoint_override=127.0.0.1:{proxy.server_port}&scheme=http&region=us-east-1", faults
    finally:
        proxy.shutdown()
        store.stop()
