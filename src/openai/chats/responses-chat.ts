import { objectOf, type PlainObject } from '../../framework/values/plain-object.ts';
import { ChatDraft, type ChatMessage, type NotAChat, toolCall } from './chat-draft.ts';

/** Fields by which the prompt has parts that are kept at the server. */
const KEPT = [
  'previous_response_id',
  'previous_response',
  'previous_input_messages',
  'conversation',
  'prompt',
] as const;
const ROLES: ReadonlySet<unknown> = new Set(['user', 'system', 'developer']);
const UNFINISHED: ReadonlySet<unknown> = new Set(['in_progress', 'incomplete']);

/**
 * The chat that vLLM makes of a request of OpenAI's Responses API, or why it cannot be known:
 * https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/responses/utils.py.
 */
export function responsesChat(body: PlainObject): PlainObject | NotAChat {
  const draft = new ChatDraft();
  if (KEPT.some((name) => isGiven(body[name]))) draft.refuse('no-chat');
  const { model, input, instructions, tools } = body;
  if (isGiven(instructions)) {
    const content = draft.text(instructions);
    if (content !== '') draft.messages.push({ role: 'system', content });
  }
  const items = typeof input === 'string' ? [] : draft.list(input);
  if (typeof input === 'string') draft.messages.push({ role: 'user', content: input });
  for (const item of items) addItem(item, draft);
  const { effort } = objectOf(body['reasoning']);
  return draft.fields({
    model,
    tools: isGiven(tools) ? toolsOf(tools, draft) : undefined,
    ...(isUnfinished(items.at(-1)) && {
      add_generation_prompt: false,
      continue_final_message: true,
    }),
    chat_template_kwargs: typeof effort === 'string' ? { reasoning_effort: effort } : undefined,
    mm_processor_kwargs: body['mm_processor_kwargs'],
  });
}

function addItem(item: PlainObject, draft: ChatDraft): void {
  const { type = 'message', role, content } = item;
  if (type === 'message' && role === 'assistant') addAnswer(content, draft);
  else if (type === 'message' && ROLES.has(role)) {
    draft.messages.push({ role: String(role), content: contentOf(content, draft) });
  } else if (type === 'reasoning') addReasoning(item, draft);
  else if (type === 'function_call') addCall(item, draft);
  else if (type === 'function_call_output') {
    const { call_id: id, output } = item;
    const result = contentOf(output, draft);
    draft.messages.push({ role: 'tool', tool_call_id: draft.text(id), content: result });
  } else draft.refuse('no-chat');
}

function contentOf(content: unknown, draft: ChatDraft): NonNullable<ChatMessage['content']> {
  return typeof content === 'string' ? content : draft.textParts(content);
}

/** Versions of vLLM differ in what they take of an answer with several parts. */
function addAnswer(given: unknown, draft: ChatDraft): void {
  const parts = typeof given === 'string' ? [] : draft.textParts(given);
  if (parts.length > 1) draft.refuse('no-chat');
  const content = typeof given === 'string' ? given : (parts[0]?.text ?? '');
  const last = openAnswer(draft);
  if (last !== undefined && last.content === undefined) last.content = content;
  else draft.messages.push({ role: 'assistant', content });
}

function addReasoning(
  { content, summary, encrypted_content: encrypted }: PlainObject,
  draft: ChatDraft,
): void {
  if (isGiven(encrypted)) draft.refuse('no-chat');
  const texts = [content, summary].flatMap((list) => (isGiven(list) ? draft.list(list) : []));
  const [first] = texts;
  const reasoning = first === undefined ? '' : draft.text(first['text']);
  const last = openAnswer(draft);
  if (last !== undefined && last.reasoning === undefined) last.reasoning = reasoning;
  else draft.messages.push({ role: 'assistant', reasoning });
}

function addCall(item: PlainObject, draft: ChatDraft): void {
  const { call_id: id, name, arguments: called, namespace } = item;
  if (isGiven(namespace)) draft.refuse('no-chat');
  const call = toolCall(draft.text(id), draft.text(name), draft.text(called));
  const last = openAnswer(draft);
  if (last === undefined) draft.messages.push({ role: 'assistant', tool_calls: [call] });
  else last.tool_calls = [...(last.tool_calls ?? []), call];
}

/** The message of an answer that the next item may be a part of. */
function openAnswer({ last }: ChatDraft): ChatMessage | undefined {
  return last?.role === 'assistant' ? last : undefined;
}

/**
 * Functions as vLLM describes them to the model: with `strict`, which is null where it is not given.
 * Tools that the server runs are described in a way of its own.
 */
function toolsOf(tools: unknown, draft: ChatDraft): readonly object[] | undefined {
  const given = draft.list(tools).map((tool) => {
    const { type, name, description, parameters, strict = null } = tool;
    if (type !== 'function') draft.refuse('no-chat');
    return draft.tool({ name, description, parameters, strict });
  });
  return given.length === 0 ? undefined : given;
}

function isUnfinished(item: PlainObject | undefined): boolean {
  const { type = 'message', status } = item ?? {};
  return (type === 'message' || type === 'reasoning') && UNFINISHED.has(status);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
