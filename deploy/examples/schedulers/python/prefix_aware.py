"""Picks the endpoint that has most of the prompt cached, unless it is much busier than others.

    pip install grpcio
    python prefix_aware.py unix:/run/pointsman/prefix-aware.sock
"""

import sys
from collections import OrderedDict

from least_loaded import BEST, LeastLoaded
from pointsman_scheduler import serve

BLOCKS_UNKNOWN = 10_000  # Cache size of an endpoint that does not report it.
PENDING_MAX = 10_000
LOAD_WEIGHT = 0.1  # One more request in flight weighs as much as this share of the prompt.


class PrefixAware(LeastLoaded):
    name = "prefix-aware-py"
    block_hashes_max = 2048

    def __init__(self):
        super().__init__()
        self.cached = {}  # Block hashes by slot, the least recently used first.
        self.pending = OrderedDict()  # Hashes by request id, until the request is routed.

    def removed(self, slot):
        super().removed(slot)
        self.cached.pop(slot, None)

    def event(self, event):
        super().event(event)
        if event.routed is not None:
            self.remember(event.routed.slot, self.pending.pop(event.id, ()))

    def remember(self, slot, hashes):
        endpoint = self.endpoints.get(slot)
        if endpoint is None:
            return
        cached = self.cached.setdefault(slot, OrderedDict())
        for block in reversed(hashes):  # A prompt's end is evicted before its start.
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
        self.pending[request.id] = hashes
        if len(self.pending) > PENDING_MAX:
            self.pending.popitem(last=False)
        share = {s: self.matched(s, hashes) / max(1, len(hashes)) for s in slots if s in self.endpoints}
        scores = {slot: share[slot] - LOAD_WEIGHT * self.load(slot) for slot in share}
        best = sorted(scores.items(), key=lambda item: -item[1])[:BEST]
        if best:
            self.assigned[best[0][0]] += 1
        return best


if __name__ == "__main__":
    serve(PrefixAware, sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9100")
