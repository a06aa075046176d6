"""Uses a stub with OpenAI's and Anthropic's own Python clients; prints what they read as JSON."""

import json
import sys

import anthropic
import openai

base = sys.argv[1]
client = openai.OpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0)
claude = anthropic.Anthropic(base_url=base, api_key="none", max_retries=0)
messages = [{"role": "user", "content": "hello"}]
terms = {"model": "m", "max_tokens": 5, "messages": messages}
seen = {}

chat = client.chat.completions.create(**terms, seed=1)
seen["chat"] = chat.choices[0].message.content
stream = client.chat.completions.create(**terms, seed=1, stream=True)
seen["chat streamed"] = "".join(
    chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices
)
completion = client.completions.create(model="m", prompt="hello", max_tokens=5)
seen["completion"] = completion.usage.completion_tokens
response = client.responses.create(model="m", input="hello", max_output_tokens=5)
seen["response"] = response.usage.output_tokens
events = client.responses.create(model="m", input="hello", max_output_tokens=5, stream=True)
seen["response streamed"] = [event.type for event in events][-1]
seen["embedding"] = len(client.embeddings.create(model="m", input="hello").data[0].embedding)
seen["models"] = [model.id for model in client.models.list()]
seen["message"] = claude.messages.create(**terms).usage.output_tokens
with claude.messages.stream(**terms) as streamed:
    seen["message streamed"] = streamed.get_final_message().stop_reason
seen["tokens"] = claude.messages.count_tokens(model="m", messages=messages).input_tokens > 0
for name, use in (
    ("openai", lambda: client.chat.completions.create(model="nobody", messages=messages)),
    ("anthropic", lambda: claude.messages.create(**{**terms, "model": "nobody"})),
):
    try:
        use()
    except (openai.NotFoundError, anthropic.NotFoundError) as error:
        seen[f"{name} error"] = error.status_code
print(json.dumps(seen))
