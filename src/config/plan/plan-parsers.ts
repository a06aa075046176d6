import { PARSER_TYPES, type ParserType } from '../../framework/parser-type.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { EndpointPickerConfig } from '../schema/schema.ts';

/** Need not be listed where the deprecated `parser` names it. */
export const USUAL_PARSER: ParserType = 'openai-parser';
const TYPES: ReadonlySet<string> = new Set(PARSER_TYPES);

/**
 * How requests are read: the types of the parsers that a configuration names, in its order, which
 * are none for the usual ones. The deprecated `parser` counts only where there is no list.
 */
export function planParsers({
  plugins,
  requestHandler,
  parser,
}: EndpointPickerConfig): Pick<PickerPlan, 'parsers' | 'propagatesPriority'> {
  const listed = requestHandler?.parsers ?? [];
  const references = listed.length > 0 ? listed : parser ? [parser] : [];
  const added: readonly [string, string][] =
    listed.length > 0 ? [] : [[USUAL_PARSER, USUAL_PARSER]];
  const types = new Map([
    ...added,
    ...plugins.map(({ name, type }) => [name ?? type, type] as const),
  ]);
  const parsers = references
    .map(({ pluginRef }) => types.get(pluginRef) ?? '')
    .filter(isParserType);
  const propagatesPriority = requestHandler?.propagatePriority === true;
  return { parsers, ...(propagatesPriority && { propagatesPriority }) };
}

function isParserType(type: string): type is ParserType {
  return TYPES.has(type);
}
