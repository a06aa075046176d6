import { ApiError } from '../replica/api-error.ts';

/** A tool the model may call. */
interface ToolSpec {
  readonly name: string;
  /** JSON Schema of the arguments. */
  readonly parameters: unknown;
}

/** The tools of a request. */
export interface Tools {
  readonly tools: readonly ToolSpec[];
  /** Whether the model must call one of `tools`. */
  readonly mustCallTool: boolean;
}

/** `auto` lets the model decide; an object names the tool. */
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

/** The tools that the model may call. Throws ApiError for a choice that cannot be. */
export function chooseTools(known: readonly ToolSpec[], choice: ToolChoice | undefined): Tools {
  if (typeof choice === 'object') {
    const named = known.filter(({ name }) => name === choice.name);
    if (named.length > 0) return { tools: named, mustCallTool: true };
    const message = `tool_choice names ${choice.name}, which is not among the tools`;
    throw new ApiError(400, message, 'tool_choice');
  }
  if (choice === 'none') return { tools: [], mustCallTool: false };
  if (choice === 'required' && known.length === 0) {
    throw new ApiError(400, 'tool_choice is required, and there are no tools', 'tool_choice');
  }
  return { tools: known, mustCallTool: choice === 'required' };
}

interface ChatTool {
  readonly function: { readonly name: string; readonly parameters?: unknown };
}

type ChatToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly function: { readonly name: string } };

/** The tools of a chat completion. Throws ApiError. */
export function toolsOf(
  tools: readonly ChatTool[] | null | undefined,
  choice: ChatToolChoice | null | undefined,
): Tools {
  const known = (tools ?? []).map(({ function: { name, parameters } }) => ({ name, parameters }));
  const named = typeof choice === 'object' ? choice?.function : choice;
  return chooseTools(known, named ?? undefined);
}
