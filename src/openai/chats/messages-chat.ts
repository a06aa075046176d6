import { objectOf, type PlainObject } from '../../framework/values/plain-object.ts';
import {
  ChatDraft,
  type ChatMessage,
  type ChatPart,
  type NotAChat,
  toolCall,
} from './chat-draft.ts';

/** Claude Code begins its system text with a line that differs in each request. vLLM leaves it out. */
const PER_REQUEST = 'x-anthropic-billing-header';
/** Types of tools that the client runs; all others are the server's own. */
const CLIENT_TOOLS: ReadonlySet<unknown> = new Set([undefined, null, 'custom']);

/**
 * The chat that vLLM makes of a request of Anthropic's Messages API, or why it cannot be known:
 * https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/anthropic/serving.py.
 */
export function messagesChat(body: PlainObject): PlainObject | NotAChat {
  const draft = new ChatDraft();
  const { model, tools } = body;
  const system = systemText(body['system'] ?? '', draft);
  if (system !== '') draft.messages.push({ role: 'system', content: system });
  for (const message of draft.list(body['messages'])) addMessage(message, draft);
  return draft.fields({
    model,
    tools: tools === undefined || tools === null ? undefined : toolsOf(tools, draft),
    chat_template_kwargs: templateFields(body),
  });
}

function systemText(system: unknown, draft: ChatDraft): string {
  if (typeof system === 'string') return system;
  const texts = draft.textParts(system).map(({ text }) => text);
  return texts.filter((text) => !text.startsWith(PER_REQUEST)).join('');
}

function addMessage({ role, content }: PlainObject, draft: ChatDraft): void {
  // Where a system message among the others goes depends on the version of vLLM.
  if (role !== 'user' && role !== 'assistant') return draft.refuse('no-chat');
  if (typeof content === 'string') {
    draft.messages.push({ role, content });
    return undefined;
  }
  const parts: ChatPart[] = [];
  const calls: object[] = [];
  const thoughts: string[] = [];
  for (const block of draft.list(content)) {
    if (role === 'user' && block['type'] === 'tool_result') addResult(block, draft);
    else if (role === 'assistant' && block['type'] === 'tool_use') calls.push(callOf(block, draft));
    else if (role === 'assistant' && block['type'] === 'thinking')
      thoughts.push(draft.text(block['thinking']));
    else if (block['type'] !== 'redacted_thinking') {
      const part = draft.textPart(block);
      if (part !== undefined && part.text !== '') parts.push(part);
    }
  }
  if (role === 'user' && parts.length === 0) return undefined;
  const message: ChatMessage = { role };
  const [only] = parts;
  if (only !== undefined) message.content = parts.length === 1 ? only.text : parts;
  if (thoughts.length > 0) message.reasoning = thoughts.join('');
  if (calls.length > 0) message.tool_calls = calls;
  draft.messages.push(message);
}

/** What a tool returned is a message of its own, before the one that it came in. */
function addResult({ tool_use_id: id = '', content }: PlainObject, draft: ChatDraft): void {
  const given = content ?? '';
  const text =
    typeof given === 'string'
      ? given
      : draft
          .textParts(given)
          .map((part) => part.text)
          .join('\n');
  draft.messages.push({ role: 'tool', tool_call_id: draft.text(id), content: text });
}

function callOf({ id, name, input }: PlainObject, draft: ChatDraft): object {
  return toolCall(draft.text(id), draft.text(name), JSON.stringify(input ?? {}));
}

/** None for an empty list: templates tell an empty list from none. */
function toolsOf(tools: unknown, draft: ChatDraft): readonly object[] | undefined {
  const given = draft.list(tools).map((tool) => {
    const { type, name, description, input_schema: schema, defer_loading: later } = tool;
    if (!CLIENT_TOOLS.has(type)) draft.refuse('no-chat');
    const parameters = { ...objectOf(schema) };
    parameters['type'] ??= 'object';
    return draft.tool({ name, description, parameters, defer_loading: later });
  });
  return given.length === 0 ? undefined : given;
}

/** What the template is given beside the messages. */
function templateFields(body: PlainObject): PlainObject | undefined {
  const { effort } = objectOf(body['output_config']);
  const given = body['chat_template_kwargs'];
  if (typeof effort !== 'string') return given === undefined ? undefined : objectOf(given);
  return { ...objectOf(given), reasoning_effort: effort };
}
