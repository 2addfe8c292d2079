"""Made-up visitors of the page: python visitors.py 1000. On a phone most like the discount, at a desk the story."""

import http.client
import os
import random
import re
import sys

LIKED = {"Mobile": "10 %", "Desktop": "How all this"}  # what a message begins with
host = os.environ.get("PAGE", "127.0.0.1:8000")


def visit(page):
    device = random.choice(list(LIKED))
    headers = {"user-agent": device, "accept-language": random.choice(["en", "de", "fr", "it"])}
    page.request("GET", "/", headers=headers)
    text = page.getresponse().read().decode()
    if random.random() < (0.35 if f"<h1>{LIKED[device]}" in text else 0.05):
        page.request("POST", re.search(r'action="([^"]*)"', text)[1])
        page.getresponse().read()


page = http.client.HTTPConnection(host)
for _ in range(int(sys.argv[1])):
    visit(page)
