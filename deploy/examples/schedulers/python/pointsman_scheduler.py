"""The protocol of proto/pointsman/scheduler/v1/scheduler.proto for schedulers in Python. Needs only
`pip install grpcio`.

Subclass Scheduler and call serve(YourScheduler, address). Each stream, that is each picker, gets an
object of its own, whose methods are called from one thread at a time.
"""

import struct
from concurrent import futures
from dataclasses import dataclass, field

import grpc

VERSION = 1
STREAMS_MAX = 64


@dataclass
class Endpoint:
    slot: int = 0
    id: str = ""
    address: str = ""
    labels: dict = field(default_factory=dict)
    sampled: bool = False
    waiting_requests: float = 0.0
    running_requests: float = 0.0
    kv_cache_usage: float = 0.0
    sample_age_ms: float = 0.0
    cache_blocks: int = 0
    cache_block_tokens: int = 0
    lora_max: int = 0
    lora_running: list = field(default_factory=list)
    lora_waiting: list = field(default_factory=list)


@dataclass
class Request:
    id: str = ""
    model: str = ""
    prompt_tokens: int = 0
    output_tokens_max: int = 0
    streaming: bool = False
    priority: int = 0
    fairness_id: str = ""
    objective: str = ""
    ttft_slo_ms: float = 0.0
    tpot_slo_ms: float = 0.0
    block_tokens: int = 0
    block_hashes: bytes = b""
    headers: dict = field(default_factory=dict)
    candidates: list = field(default_factory=list)

    def hashes(self):
        """The prompt's block hashes as integers, from its start."""
        return struct.unpack(f"<{len(self.block_hashes) // 8}Q", self.block_hashes)


@dataclass
class Routed:
    slot: int = 0
    prefill_slot: int = -1
    prompt_tokens: int = 0


@dataclass
class FirstToken:
    after_ms: float = 0.0


@dataclass
class Done:
    outcome: int = 0
    after_ms: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


@dataclass
class Event:
    id: str = ""
    routed: Routed = None
    first_token: FirstToken = None
    done: Done = None


@dataclass
class Hello:
    version: int = 0
    picker: str = ""
    headers: list = field(default_factory=list)
    deadline_ms: float = 0.0


@dataclass
class PickerMessage:
    hello: Hello = None
    removed: list = field(default_factory=list)
    endpoints: list = field(default_factory=list)
    events: list = field(default_factory=list)
    requests: list = field(default_factory=list)


# Name and type of each field, by number. `[type]` is `repeated`, dict is `map<string, string>`.
FIELDS = {
    Hello: {1: ("version", int), 2: ("picker", str), 3: ("headers", [str]), 4: ("deadline_ms", float)},
    Endpoint: {
        1: ("slot", int), 2: ("id", str), 3: ("address", str), 4: ("labels", dict), 5: ("sampled", bool),
        6: ("waiting_requests", float), 7: ("running_requests", float), 8: ("kv_cache_usage", float),
        9: ("sample_age_ms", float), 10: ("cache_blocks", int), 11: ("cache_block_tokens", int),
        12: ("lora_max", int), 13: ("lora_running", [str]), 14: ("lora_waiting", [str]),
    },
    Request: {
        1: ("id", str), 2: ("model", str), 3: ("prompt_tokens", int), 4: ("output_tokens_max", int),
        5: ("streaming", bool), 6: ("priority", int), 7: ("fairness_id", str), 8: ("objective", str),
        9: ("ttft_slo_ms", float), 10: ("tpot_slo_ms", float), 11: ("block_tokens", int),
        12: ("block_hashes", bytes), 13: ("headers", dict), 14: ("candidates", [int]),
    },
    Routed: {1: ("slot", int), 2: ("prefill_slot", int), 3: ("prompt_tokens", int)},
    FirstToken: {1: ("after_ms", float)},
    Done: {
        1: ("outcome", int), 2: ("after_ms", float), 3: ("prompt_tokens", int), 4: ("completion_tokens", int),
        5: ("cached_tokens", int),
    },
    Event: {1: ("id", str), 2: ("routed", Routed), 3: ("first_token", FirstToken), 4: ("done", Done)},
    PickerMessage: {
        1: ("hello", Hello), 2: ("removed", [int]), 3: ("endpoints", [Endpoint]), 4: ("events", [Event]),
        5: ("requests", [Request]),
    },
}


def decode(kind, data):
    """Decodes a protobuf message. Fields that are not in FIELDS are skipped."""
    message, at, end, fields = kind(), 0, len(data), FIELDS[kind]
    while at < end:
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            raw, at = _varint(data, at)
        elif wire == 1:
            raw, at = data[at : at + 8], at + 8
        elif wire == 2:
            length, at = _varint(data, at)
            raw, at = data[at : at + length], at + length
        elif wire == 5:
            raw, at = data[at : at + 4], at + 4
        else:
            raise ValueError(f"{wire} is not a protobuf wire type")
        if at > end:
            raise ValueError("the message is cut off")
        if key >> 3 in fields:
            _put(message, *fields[key >> 3], wire, raw)
    return message


def _put(message, name, kind, wire, raw):
    if kind is dict:
        entry = _Entry()
        for number, value in _strings(raw):
            setattr(entry, "key" if number == 1 else "value", value)
        getattr(message, name)[entry.key] = entry.value
    elif isinstance(kind, list):
        if kind[0] is int and wire == 2:
            at = 0
            while at < len(raw):
                value, at = _varint(raw, at)
                getattr(message, name).append(value)
        else:
            getattr(message, name).append(_value(kind[0], raw))
    else:
        setattr(message, name, _value(kind, raw))


@dataclass
class _Entry:
    key: str = ""
    value: str = ""


def _strings(data):
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        length, at = _varint(data, at)
        yield key >> 3, data[at : at + length].decode()
        at += length


def _value(kind, raw):
    if kind is int:
        return raw - (1 << 64) if raw >> 63 else raw
    if kind is bool:
        return raw != 0
    if kind is float:
        return struct.unpack("<d", raw)[0]
    if kind is str:
        return raw.decode()
    return bytes(raw) if kind is bytes else decode(kind, raw)


def _varint(data, at):
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7


def _encode_varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes_field(number, data):
    return _encode_varint(number << 3 | 2) + _encode_varint(len(data)) + data


def _int_field(number, value):
    return _encode_varint(number << 3) + _encode_varint(value)


def _welcome(scheduler, offered):
    body = _int_field(1, VERSION) + _bytes_field(2, scheduler.name.encode())
    body += _int_field(3, int(scheduler.wants_endpoints)) + _int_field(4, int(scheduler.wants_events))
    body += _int_field(5, scheduler.block_hashes_max)
    for header in scheduler.headers:
        if header in offered:
            body += _bytes_field(6, header.encode())
    return _bytes_field(1, body)


@dataclass
class Decision:
    """What `decide` may return in place of its targets."""

    targets: list = field(default_factory=list)  # [(slot, score)], best first.
    refuse: bool = False  # With no targets: the client is answered 429.
    prefill_slot: int = None  # Computes the prompt, where that is another endpoint.
    headers: dict = field(default_factory=dict)  # To set on the request.


def _decision(request_id, decided):
    decision = decided if isinstance(decided, Decision) else Decision(decided or [])
    body = _bytes_field(1, request_id.encode())
    for slot, score in decision.targets:
        body += _bytes_field(2, _int_field(1, slot) + b"\x11" + struct.pack("<d", score))
    if decision.refuse:
        body += _int_field(3, 1)
    if decision.prefill_slot is not None:
        body += _int_field(4, decision.prefill_slot)
    for name, value in decision.headers.items():
        body += _bytes_field(5, _bytes_field(1, name.encode()) + _bytes_field(2, value.encode()))
    return _bytes_field(2, body)


class Scheduler:
    name = "unnamed"
    wants_endpoints = True
    wants_events = True
    block_hashes_max = 0
    headers = ()

    def __init__(self):
        self.endpoints = {}  # By slot.

    def removed(self, slot):
        """Called when an endpoint is removed. Its slot may be given to another one later."""

    def event(self, event):
        """Called when a request of any scheduler is routed, has its first token, or is done."""

    def begin_batch(self):
        """Called before the requests of a message are decided, one by one."""

    def decide(self, request, slots):
        """Returns [(slot, score)] of the candidates `slots`, best first, or a Decision; None for no
        opinion."""
        raise NotImplementedError


def serve(make, address):
    """Serves until the process ends. `address` is unix:/path or host:port."""

    def run(messages, context):
        scheduler = make()
        for message in messages:
            if message.hello is not None:
                if message.hello.version != VERSION:
                    context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"this is version {VERSION}")
                yield _welcome(scheduler, message.hello.headers)
            for slot in message.removed:
                scheduler.endpoints.pop(slot, None)
                scheduler.removed(slot)
            for endpoint in message.endpoints:
                scheduler.endpoints[endpoint.slot] = endpoint
            for event in message.events:
                scheduler.event(event)
            if message.requests:
                scheduler.begin_batch()
                yield b"".join(
                    _decision(r.id, scheduler.decide(r, r.candidates or list(scheduler.endpoints)))
                    for r in message.requests
                )

    handler = grpc.stream_stream_rpc_method_handler(
        run, request_deserializer=lambda data: decode(PickerMessage, data), response_serializer=lambda data: data
    )
    server = grpc.server(futures.ThreadPoolExecutor(STREAMS_MAX))
    service = "pointsman.scheduler.v1.Scheduler"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Run": handler}),))
    server.add_insecure_port(address)
    server.start()
    print(f"listening on {address}", flush=True)
    server.wait_for_termination()
