"""deploy/relay.conf in a real nginx (pytest tests/deploy/relayed.py): the receiver learns nothing of senders."""

import contextlib
import http.server
import os
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from serve_tests.service import certificates
from tests.deploy.outside import program

RELAY = (Path(__file__).parents[2] / "deploy" / "relay.conf").read_text()
IDENTIFYING = {
    "Cookie": "who=me",
    "User-Agent": "a rare browser",
    "Accept-Language": "gsw",
    "Referer": "https://news.example/",
    "Origin": "https://app.example",
    "X-Forwarded-For": "203.0.113.7",
    "Forwarded": "for=203.0.113.7",
    "If-None-Match": '"me"',
    "X-Client": "me",
    "Content-Type": "application/x-me",
}


@contextlib.contextmanager
def relay(folder, port, *, tls):
    """nginx before a receiver at that port: with its certificate, or, on this machine, without TLS."""
    certificates.write(folder / "certificate.pem", folder / "key.pem")
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    text = RELAY.replace("listen 443", f"listen 127.0.0.1:{own}").replace("/etc/nginx/tls", str(folder))
    text = text.replace("/var/cache/nginx/relay", f"{folder}/cache").replace(
        "error_log stderr", f"error_log {folder}/error"
    )
    text = text.replace("shuffler.example:443", f"127.0.0.1:{port}").replace("shuffler.example", "localhost")
    text = text.replace("/etc/ssl/certs/ca-certificates.crt", f"{folder}/certificate.pem")
    text = text if tls else text.replace("https://receiver", "http://receiver")
    kinds = "client_body", "proxy", "fastcgi", "uwsgi", "scgi"
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;\n" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}daemon off;\npid {folder}/pid;\nevents {{}}\nhttp {{\n{temporary}{text}}}\n"
    )
    command = [program("nginx"), "-c", folder / "nginx.conf", "-e", folder / "error", "-p", folder]
    subprocess.run([*command, "-t"], capture_output=True, check=True)
    with subprocess.Popen(command) as process:
        try:
            while not ((folder / "pid").exists() and (folder / "pid").read_text()):
                assert process.poll() is None
                time.sleep(0.02)
            yield f"https://127.0.0.1:{own}"
        finally:
            process.terminate()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = tmp_path / "relay"
    made.mkdir()
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "certificate.pem"))
    return made


def test_nothing_of_the_sender_arrives_and_nothing_comes_back_to_know_it_by(folder):
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append((self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(200)
            for name, value in {"Set-Cookie": "who=me", "ETag": '"me"', "Content-Length": "5"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"board")

        do_POST = do_GET

        def log_message(self, *said):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with relay(folder, server.server_port, tls=True) as address:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def asked(path, data=None):
            request = urllib.request.Request(f"{address}{path}?who=me", data=data, headers=IDENTIFYING)
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.read(), dict(answer.headers)

        boards = [asked("/billboard") for _ in range(3)]
        asked("/reports", b"a sealed report")
        for wrong in ("/status", "/reports", "/billboard/more"):
            with pytest.raises(urllib.error.HTTPError):
                asked(wrong)
        server.shutdown()
        server.server_close()
    (get, post_) = seen  # the billboard once for all three, and the report
    assert get == ("GET", "/billboard", {"host": "localhost"}, b"")
    assert post_[:2] == ("POST", "/reports") and post_[3] == b"a sealed report"
    assert post_[2] == {"host": "localhost", "content-length": "15"}
    assert all(body == b"board" and not {"Set-Cookie", "ETag"} & set(headers) for body, headers in boards)
    assert not list(folder.rglob("*access*")) and "203.0.113.7" not in (folder / "error").read_text()
