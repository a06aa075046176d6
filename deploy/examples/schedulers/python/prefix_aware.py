"""Where most of the prompt is cached already, unless that endpoint is much busier than the others.

    pip install grpcio
    python prefix_aware.py unix:/run/pointsman/prefix-aware.sock
"""

import sys
from collections import OrderedDict

from least_loaded import BEST, LeastLoaded
from pointsman_scheduler import serve

BLOCKS_UNKNOWN = 10_000  # Of an endpoint that does not say how many it has.
ASKED_MAX = 10_000
LOAD_WORTH = 0.1  # A request more in flight weighs as much as so large a share of the prompt.


class PrefixAware(LeastLoaded):
    name = "prefix-aware-py"
    block_hashes_max = 2048

    def __init__(self):
        super().__init__()
        self.cached = {}  # By slot: block hashes, the least recently used first.
        self.asked = OrderedDict()  # Hashes by request, until it is routed.

    def removed(self, slot):
        super().removed(slot)
        self.cached.pop(slot, None)

    def event(self, event):
        super().event(event)
        if event.routed is not None:
            self.remember(event.routed.slot, self.asked.pop(event.id, ()))

    def remember(self, slot, hashes):
        endpoint = self.endpoints.get(slot)
        if endpoint is None:
            return
        cached = self.cached.setdefault(slot, OrderedDict())
        for block in reversed(hashes):  # So that a prompt's end is forgotten before its start.
            cached[block] = True
            cached.move_to_end(block)
        while len(cached) > (endpoint.cache_blocks or BLOCKS_UNKNOWN):
            cached.popitem(last=False)

    def matched(self, slot, hashes):
        cached, count = self.cached.get(slot, ()), 0
        for block in hashes:
            if block not in cached:
                break
            count += 1
        return count

    def decide(self, request, slots):
        hashes = request.hashes()
        self.asked[request.id] = hashes
        if len(self.asked) > ASKED_MAX:
            self.asked.popitem(last=False)
        share = {s: self.matched(s, hashes) / max(1, len(hashes)) for s in slots if s in self.endpoints}
        scores = {slot: share[slot] - LOAD_WORTH * self.load(slot) for slot in share}
        best = sorted(scores.items(), key=lambda item: -item[1])[:BEST]
        if best:
            self.given[best[0][0]] += 1
        return best


if __name__ == "__main__":
    serve(PrefixAware, sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9100")
