import { PARSER_TYPES, type ParserType } from '../../framework/parser-type.ts';
import type { EndpointPickerConfig } from '../schema/schema.ts';

const TYPES: ReadonlySet<string> = new Set(PARSER_TYPES);

/**
 * The types of the parsers that a configuration names, in its order; empty for the usual ones. The
 * deprecated `parser` counts only where there is no list.
 */
export function planParsers({
  plugins,
  requestHandler,
  parser,
}: EndpointPickerConfig): readonly ParserType[] {
  const listed = requestHandler?.parsers ?? [];
  const references = listed.length > 0 ? listed : parser ? [parser] : [];
  const types = new Map(plugins.map(({ name, type }) => [name ?? type, type]));
  return references.map(({ pluginRef }) => types.get(pluginRef) ?? '').filter(isParserType);
}

function isParserType(type: string): type is ParserType {
  return TYPES.has(type);
}
