import type { ReportedValue } from '../../framework/observer.ts';
import type { WireWriter } from './wire-writer.ts';

/** Writes a Struct that holds a Struct of numbers for each namespace, the last one first. */
export function writeReportedValues(writer: WireWriter, values: readonly ReportedValue[]): void {
  const namespaces = new Map<string, Map<string, number>>();
  for (const { namespace, name, value } of values) {
    const known = namespaces.get(namespace) ?? new Map<string, number>();
    namespaces.set(namespace, known.set(name, value));
  }
  for (const [namespace, numbers] of namespaces) {
    const end = writer.written;
    for (const [name, value] of numbers) writeNumber(writer, name, value);
    // FieldsEntry { key, Value { Struct } }
    writer.message(5, end);
    writer.message(2, end);
    writer.text(1, namespace);
    writer.message(1, end);
  }
}

/** Writes a FieldsEntry { key, Value { number } }. */
function writeNumber(writer: WireWriter, name: string, value: number): void {
  const end = writer.written;
  writer.double(2, value);
  writer.message(2, end);
  writer.text(1, name);
  writer.message(1, end);
}
