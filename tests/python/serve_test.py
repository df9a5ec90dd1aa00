"""`hearth serve` beside OpenAI's own client, with tiny random models."""

import argparse
import asyncio
import concurrent.futures
import contextlib
import errno
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import httpx2 as httpx_module
import httpx2
import openai
import pytest

import tiny_gguf

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "bench"))
import serve_load  # noqa: E402

TOOL = os.environ.get("HEARTH_TOOL")
SECONDS = 60
ENDLESS = {"2": -100, "4": -100}  # without the tokens that end a text
# Of the five control tokens and the bytes behind them those that are texts.
ASCII = {str(token): -100 for token in [*range(5), *range(5 + 128, 5 + 256)]}


def has_http():
    if not TOOL:
        return False
    out = subprocess.run([TOOL, "serve", "--model", "/", "--port", "0"], capture_output=True, text=True)
    return "cpp-httplib" not in out.stderr


pytestmark = pytest.mark.skipif(not has_http(), reason="built without the hearth command or HTTP")


class Server:
    def __init__(self, model, *options):
        self.process = subprocess.Popen(
            [TOOL, "serve", "--model", model, "--port", "0", *options],
            stdout=subprocess.PIPE, text=True)  # fmt: skip
        line = self.process.stdout.readline()
        self.port = int(re.search(r":(\d+)$", line.strip()).group(1))
        assert "is ready" in self.process.stdout.readline()

    def client(self, key="none"):
        return openai.OpenAI(
            base_url=f"http://127.0.0.1:{self.port}/v1", api_key=key, max_retries=0, timeout=SECONDS)  # fmt: skip

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def metric(self, name):
        _, text = self.request("GET", "/metrics")
        return int(re.search(rf"^hearth_{name} (\d+)$", text, re.MULTILINE).group(1))

    def wait_for(self, name, value):
        end = time.monotonic() + SECONDS
        while self.metric(name) != value:
            assert time.monotonic() < end, f"{name} is {self.metric(name)}, expected {value}"
            time.sleep(0.02)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(SECONDS)
        self.process.stdout.close()
        return status


@contextlib.contextmanager
def serving(model, *options):
    server = Server(model, *options)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    tiny_gguf.write_llama(path, context=4096)
    return str(path)


@pytest.fixture(scope="module")
def server(llama):
    with serving(llama, "--parallel", "16") as running:
        yield running


@pytest.fixture
def client(server):
    return server.client()


HI = [{"role": "user", "content": "hi"}]
TOOL_ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {
            "type": "object",
            "properties": {"small": {"type": "boolean"}, "n": {"enum": [1, 2, 3]}},
            "required": ["small", "n"],
        },
    },
}


def chat(client, **fields):
    fields = {"model": "tiny", "messages": HI, "max_tokens": 8, **fields}
    return client.chat.completions.create(**fields)


def test_models(client):
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").id == "tiny"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("other")


def test_chat(client):
    answer = chat(client, seed=1, n=2)
    assert len(answer.choices) == 2
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].finish_reason in ("length", "stop")
    assert answer.usage.prompt_tokens == 21
    assert 0 < answer.usage.completion_tokens <= 16


def test_a_seed_gives_the_same_text_whole_and_streamed(client):
    fields = {"seed": 7, "max_tokens": 24, "logit_bias": ENDLESS}
    whole = chat(client, **fields).choices[0].message.content
    assert chat(client, **fields).choices[0].message.content == whole
    pieces, usage = [], None
    for chunk in chat(client, stream=True, stream_options={"include_usage": True}, **fields):
        usage = chunk.usage or usage
        pieces += [choice.delta.content or "" for choice in chunk.choices]
    assert "".join(pieces) == whole
    assert usage.completion_tokens == 24
    assert usage.prompt_tokens_details.cached_tokens > 0


def test_logprobs(client):
    answer = chat(client, logprobs=True, top_logprobs=3, temperature=0, max_tokens=4)
    tokens = answer.choices[0].logprobs.content
    assert len(tokens) == answer.usage.completion_tokens
    for token in tokens:
        assert len(token.top_logprobs) == 3
        assert token.logprob == token.top_logprobs[0].logprob <= 0
        assert token.bytes is not None


def test_completions(client):
    answer = client.completions.create(model="tiny", prompt="ab", max_tokens=4, echo=True)
    assert answer.choices[0].text.startswith("ab")
    assert answer.usage.prompt_tokens == 2
    streamed = client.completions.create(model="tiny", prompt="ab", max_tokens=4, stream=True)
    assert list(streamed)[-1].choices[0].finish_reason in ("length", "stop")


def test_a_prompt_is_scored_as_its_tokens_were_drawn(client):
    drawn = client.completions.create(
        model="tiny", prompt="ab", max_tokens=6, logprobs=3, temperature=0, logit_bias=ASCII)  # fmt: skip
    text = "ab" + drawn.choices[0].text
    ids = []
    for token in ["ab", *drawn.choices[0].logprobs.tokens]:
        ids += client.post("/tokenize", cast_to=object, body={"content": token})["tokens"]
    assert len(ids) == 8
    scored = client.completions.create(
        model="tiny", prompt=[ids], max_tokens=0, logprobs=3, echo=True)  # fmt: skip
    choice = scored.choices[0]
    assert choice.text == text
    assert choice.finish_reason == "length"
    assert choice.logprobs.token_logprobs[0] is None
    assert len(choice.logprobs.tokens) == len(ids) == scored.usage.prompt_tokens
    drawn = drawn.choices[0].logprobs
    assert choice.logprobs.token_logprobs[2:] == pytest.approx(drawn.token_logprobs, abs=1e-4)
    for logprob, best in zip(
        choice.logprobs.token_logprobs[1:], choice.logprobs.top_logprobs[1:], strict=True):  # fmt: skip
        assert logprob <= max(best.values()) + 1e-6


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="nothing tells of memory")
def test_large_answers_leave_no_memory_behind(llama):
    def resident(server):
        pages = pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    prompt = list(range(10, 40)) * 30
    body = {"prompt": [prompt, prompt], "n": 2, "max_tokens": 0, "echo": True, "logprobs": 20}
    with serving(llama) as server:
        sizes = []
        for _ in range(24):  # each connection has a thread of its own
            status, text = server.request("POST", "/v1/completions", json.dumps(body))
            assert status == 200 and len(text) > 1 << 20
            sizes.append(resident(server))
        assert max(sizes[12:]) - max(sizes[:4]) < 48 << 20, sizes


def test_several_prompts(client):
    one = [
        client.completions.create(model="tiny", prompt=p, max_tokens=5, temperature=0).choices[0].text
        for p in ("ab", "cd")
    ]
    both = client.completions.create(model="tiny", prompt=["ab", "cd"], n=2, max_tokens=5, temperature=0)
    assert [choice.text for choice in both.choices] == [one[0], one[0], one[1], one[1]]
    assert both.usage.prompt_tokens == 4


def test_responses(client):
    answer = client.responses.create(
        model="tiny", input="hi", max_output_tokens=8, temperature=0, extra_body={"logit_bias": ENDLESS})  # fmt: skip
    assert answer.status == "incomplete"
    assert answer.incomplete_details.reason == "max_output_tokens"
    assert answer.output_text
    assert answer.usage.output_tokens == 8
    text = ""
    with client.responses.stream(
        model="tiny", input="hi", max_output_tokens=8, temperature=0, extra_body={"logit_bias": ENDLESS}
    ) as events:  # fmt: skip
        for event in events:
            if event.type == "response.output_text.delta":
                text += event.delta
    assert text == answer.output_text
    with pytest.raises(openai.BadRequestError, match="previous_response_id"):
        client.responses.create(model="tiny", input="hi", previous_response_id="resp_1")


def test_responses_that_must_call(client):
    function = TOOL_ADD["function"]
    answer = client.responses.create(
        model="tiny", input="add", max_output_tokens=400, temperature=0, tool_choice="required",
        tools=[{"type": "function", "name": function["name"], "parameters": function["parameters"]}])  # fmt: skip
    assert [item.type for item in answer.output] == ["function_call"]
    assert isinstance(json.loads(answer.output[0].arguments), dict)


def test_schemas(client):
    schema = {
        "type": "object",
        "properties": {"yes": {"type": "boolean"}, "color": {"enum": ["red", "blue"]}},
        "required": ["yes", "color"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": schema}}
    for seed in range(4):
        answer = chat(client, response_format=form, max_tokens=200, seed=seed)
        value = json.loads(answer.choices[0].message.content)
        assert isinstance(value["yes"], bool) and value["color"] in ("red", "blue")


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "add"}}])
def test_tools_that_must_be_called(client, choice):
    answer = chat(client, tools=[TOOL_ADD], tool_choice=choice, max_tokens=300)
    assert answer.choices[0].finish_reason == "tool_calls"
    (call,) = answer.choices[0].message.tool_calls
    assert call.function.name == "add"
    assert json.loads(call.function.arguments)["n"] in (1, 2, 3)
    name, arguments = "", ""
    for chunk in chat(client, tools=[TOOL_ADD], tool_choice=choice, max_tokens=300, stream=True):
        for part in chunk.choices[0].delta.tool_calls or []:
            name += part.function.name or ""
            arguments += part.function.arguments or ""
    assert name == "add"
    assert json.loads(arguments)["n"] in (1, 2, 3)


def test_tools_beside_a_schema(llama):
    template = "{% if tools %}<tool_call>{{ tools | tojson }}{% endif %}{{ messages[0].content }}"
    form = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"enum": ["red", "blue"]}}}
    with serving(llama, "--chat-template", template) as server:
        def choice(bias):
            fields = {"tools": [TOOL_ADD], "response_format": form, "max_tokens": 300}
            (made,) = chat(server.client(), parallel_tool_calls=False, extra_body={"logit_bias": [["<", bias]]}, **fields).choices
            return made

        called = choice(100)
        assert called.finish_reason == "tool_calls" and called.message.content is None
        (call,) = called.message.tool_calls
        assert call.function.name == "add"
        assert json.loads(call.function.arguments)["n"] in (1, 2, 3)
        said = choice(-100)
        assert said.finish_reason == "stop" and not said.message.tool_calls
        assert json.loads(said.message.content) in ("red", "blue")
    with serving(llama) as server, pytest.raises(openai.BadRequestError, match="no mark of their own"):
        chat(server.client(), tools=[TOOL_ADD], response_format=form)


def test_stop(client):
    free = chat(client, seed=3, max_tokens=64, logit_bias=ENDLESS).choices[0].message.content
    stop = next(letter for letter in free[1:] if letter not in "\ufffd \n\t\r")
    cut = chat(client, seed=3, max_tokens=64, logit_bias=ENDLESS, stop=stop).choices[0]
    assert cut.finish_reason == "stop"
    assert cut.message.content == free[: free.index(stop)].rstrip() or free.startswith(cut.message.content)
    assert stop not in cut.message.content


def test_errors(server, client):
    with pytest.raises(openai.BadRequestError) as error:
        chat(client, temperature=-1)
    assert error.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as error:
        chat(client, messages=[{"role": "user", "content": "x" * 5000}])
    assert error.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="tiny", input="a")
    with pytest.raises(openai.NotFoundError):
        client.get("/nothing", cast_to=object)
    assert server.request("PUT", "/v1/models")[0] == 405
    assert server.request("POST", "/v1/completions", b"\xff\xfe{")[0] == 400
    assert server.request("POST", "/v1/completions", b"[" * 100_000)[0] == 400


def test_texts_beyond_the_context_and_halves_of_characters(server):
    def error(path, body):
        status, text = server.request("POST", path, body)
        assert status == 400
        return json.loads(text)["error"]

    large = "x" * (4 << 20)
    for path, body in [
        ("/v1/completions", {"prompt": large}),
        ("/completion", {"prompt": [5, large]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": large}]}),
    ]:
        refused = error(path, json.dumps(body).encode())
        assert refused["code"] == "context_length_exceeded"
        assert re.search(r"at least \d{5,7} tokens", refused["message"])
    assert error("/v1/completions", b'{"prompt": "a\\ud800b"}')["param"] == "prompt"


def test_what_the_template_is_told_for_all_requests(llama):
    template = "{{ messages[0].content }}|{{ mood }}|{{ tone }}"
    told = json.dumps({"mood": "calm", "tone": "dry"})
    with serving(llama, "--chat-template", template, "--chat-template-kwargs", told) as server:
        def prompt(**fields):
            body = json.dumps({"messages": HI, **fields}).encode()
            return json.loads(server.request("POST", "/apply-template", body)[1])["prompt"]

        assert prompt() == "hi|calm|dry"
        assert prompt(chat_template_kwargs={"tone": "warm"}) == "hi|calm|warm"


def test_probabilities_in_the_form_of_llama_cpp(server):
    body = {"prompt": ["hi", 70], "n_predict": 4, "n_probs": 3, "temperature": 0, "logit_bias": ENDLESS}
    status, text = server.request("POST", "/completion", json.dumps(body).encode())
    assert status == 200
    answer = json.loads(text)
    assert len(answer["completion_probabilities"]) == answer["tokens_predicted"] == 4
    for each in answer["completion_probabilities"]:
        best = each["top_logprobs"]
        assert len(best) == 3
        assert [one["logprob"] for one in best] == sorted((one["logprob"] for one in best), reverse=True)
        assert all(set(one) == {"id", "token", "bytes", "logprob"} for one in best)
        assert each["logprob"] <= best[0]["logprob"]


def test_keys(llama):
    with serving(llama, "--api-key", "secret", "--cors", "*") as server:
        with pytest.raises(openai.AuthenticationError):
            chat(server.client("wrong"))
        assert chat(server.client("secret")).choices
        assert server.request("GET", "/health")[0] == 200
        assert server.request("OPTIONS", "/v1/models", headers={"Origin": "http://a"})[0] == 204


def test_a_page_and_metrics_that_are_turned_off(llama):
    with serving(llama, "--no-page", "--no-metrics") as running:
        for path, option in [("/", "--no-page"), ("/metrics", "--no-metrics")]:
            status, text = running.request("GET", path)
            assert status == 404
            assert option in json.loads(text)["error"]["message"]
        assert running.request("GET", "/health")[0] == 200


def test_embeddings(tmp_path):
    path = tmp_path / "bert.gguf"
    tiny_gguf.write_bert(path)
    with serving(str(path)) as server:
        client = server.client()
        texts = ["abc", "de", "f"]
        packed = client.embeddings.create(model="bert", input=texts)
        plain = client.embeddings.create(model="bert", input=texts, encoding_format="float")
        for one, two in zip(packed.data, plain.data, strict=True):
            assert one.embedding == pytest.approx(two.embedding, abs=1e-6)
            assert sum(x * x for x in two.embedding) == pytest.approx(1, abs=1e-4)
        assert packed.data[0].embedding != packed.data[1].embedding
        short = client.embeddings.create(model="bert", input="abc", dimensions=3)
        length = sum(x * x for x in plain.data[0].embedding[:3]) ** 0.5
        assert short.data[0].embedding == pytest.approx(
            [x / length for x in plain.data[0].embedding[:3]], abs=1e-5)  # fmt: skip
        with pytest.raises(openai.BadRequestError, match=r"input\[1\]"):
            client.embeddings.create(model="bert", input=[[5], [999999]])
        with pytest.raises(openai.BadRequestError, match=r"input\[1\]"):
            client.embeddings.create(model="bert", input=["abc", "a " * 100])
        with pytest.raises(openai.BadRequestError):
            chat(client)


def test_many_streams_at_once(client):
    fields = {"stream": True, "temperature": 0, "max_tokens": 40, "logit_bias": ENDLESS}

    def streamed(i):
        messages = [{"role": "user", "content": f"number {i % 4}"}]
        chunks = chat(client, messages=messages, **fields)
        return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)

    alone = [streamed(i) for i in range(4)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        together = list(pool.map(streamed, range(16)))
    assert together == [alone[i % 4] for i in range(16)]


def test_sixty_requests_of_many_users_are_all_answered(llama):
    options = argparse.Namespace(users=16, requests=60, prompt=64, tokens=12, seed=5)
    server = serve_load.Server(TOOL, llama, ["--parallel", "8"])
    before = server.resident()
    load = serve_load.Load(server, "tiny", options)
    asyncio.run(load.run())
    assert load.lost == []
    assert load.done == 60
    assert len(load.wholes) + load.closed == 60
    assert server.resident() - before < 256 << 20
    deadline = time.monotonic() + SECONDS
    while server.metric("requests_running") + server.metric("requests_waiting") > 0:
        assert time.monotonic() < deadline
    assert server.metric("pages_used") == 0
    assert server.metric("faults_total") == 0
    assert server.stop() == 0


def test_users_who_come_together_all_get_in(llama):
    with serving(llama, "--parallel", "2") as server:
        peers = [socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) for _ in range(100)]
        for peer in peers:
            peer.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        for peer in peers:
            assert peer.recv(1 << 16).startswith(b"HTTP/1.1 200")
            peer.close()


def test_closing_cancels(server, client):
    long = {"max_tokens": 4000, "logit_bias": ENDLESS}
    server.wait_for("requests_running", 0)
    for _ in range(3):
        stream = chat(client, stream=True, **long)
        next(iter(stream))
        stream.close()
    server.wait_for("requests_running", 0)
    # Also where nothing is streamed: the socket alone tells.
    body = json.dumps({"messages": HI, "seed": 1, **long}).encode()
    plain = socket.create_connection(("127.0.0.1", server.port))
    plain.sendall(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)  # fmt: skip
    time.sleep(0.2)
    plain.close()
    server.wait_for("requests_running", 0)
    assert server.request("GET", "/health")[0] == 200


def test_a_full_queue(llama):
    with serving(llama, "--parallel", "1", "--queue", "1") as server:
        client = server.client()
        long = {"max_tokens": 4000, "logit_bias": ENDLESS, "stream": True}
        streams, refused = [], 0
        for _ in range(6):
            try:
                streams.append(chat(client, **long))
            except openai.RateLimitError as error:
                refused += 1
                assert error.response.headers["retry-after"] == "1"
        assert refused > 0
        for stream in streams:
            stream.close()


def test_hostile_connections(llama):
    with serving(llama, "--max-body", "1") as server:
        def resident():
            with open(f"/proc/{server.process.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        before = resident() if sys.platform == "linux" else 0
        endless = [b"GET /" + b"a" * (16 << 20), b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (2 << 20),
                   b"POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                   + (b"100000\r\n" + b"x" * (1 << 20) + b"\r\n") * 16]  # fmt: skip
        for text in endless:
            peer = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
            with contextlib.suppress(OSError):
                peer.sendall(text)
                while peer.recv(1 << 16):
                    pass
            peer.close()
        if sys.platform == "linux":
            assert resident() - before < 24 << 20
        assert server.request("POST", "/tokenize", b"x" * (2 << 20))[0] == 413
        assert server.request("POST", "/tokenize", b'{"content": "a"}')[0] == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_under_load(llama, number):
    server = Server(llama, "--grace", "0", "--parallel", "8")
    client = server.client()
    long = {"max_tokens": 4000, "logit_bias": ENDLESS, "stream": True}
    streams = [chat(client, **long) for _ in range(8)]
    for stream in streams:
        next(iter(stream))
    server.process.send_signal(number)
    for stream in streams:
        with contextlib.suppress(openai.APIError, httpx2.HTTPError):
            for _ in stream:
                pass
    assert server.process.wait(SECONDS) == 0
    server.process.stdout.close()


def test_answers_may_end_within_the_grace_time(llama):
    server = Server(llama, "--grace", "60")
    stream = chat(server.client(), max_tokens=300, logit_bias=ENDLESS, stream=True)
    next(iter(stream))
    server.process.send_signal(signal.SIGTERM)
    assert [c.choices[0].finish_reason for c in stream][-1] == "length"
    assert server.process.wait(SECONDS) == 0
    server.process.stdout.close()


def refused(llama, *options):
    again = subprocess.run(
        [TOOL, "serve", "--model", llama, *options], capture_output=True, text=True, timeout=SECONDS)  # fmt: skip
    assert again.returncode == 2
    assert "cannot be listened on" in again.stderr
    return again.stderr


def test_two_on_one_port(server, llama):
    said = refused(llama, "--port", str(server.port))
    assert os.strerror(errno.EADDRINUSE) in said
    assert f"got 127.0.0.1:{server.port}, expected another --port" in said


def test_addresses_that_are_not_of_this_machine(llama):
    said = refused(llama, "--host", "192.0.2.1", "--port", "0")
    assert os.strerror(errno.EADDRNOTAVAIL) in said
    assert "got 192.0.2.1, expected another --host" in said
    said = refused(llama, "--host", "no such name", "--port", "0")
    assert re.search(r"\(.+\); got no such name, expected another --host", said)
