export type NoteReason =
  | 'assumed'
  | 'deprecated'
  | 'empty'
  | 'replaced'
  | 'unused'
  | 'not-scheduling'
  | 'no-weight'
  | 'no-such-parameter'
  | 'core'
  | 'own-way'
  | 'obsolete'
  | 'gate-off'
  | 'switched-off'
  | 'replicas'
  | 'not-built'
  | 'unverified';

/** Why a part of a configuration has no effect, or another one than it says. The list is closed. */
export const NOTE_REASONS: Readonly<Record<NoteReason, string>> = {
  assumed: 'It is left out, and what the reference takes in its place is in force.',
  deprecated: 'An old name, which works. The note names the new one.',
  empty: 'The file is empty when the picker starts: the configuration `default` is in force.',
  replaced: 'Another part of the same file is in force in its place, as in the reference picker.',
  unused:
    'No profile and no section names this plugin, or nothing reads what it finds, so that it has nothing to do.',
  'not-scheduling': 'A profile lists a plugin that neither filters, scores nor picks.',
  'no-weight': 'Only scorers have weights.',
  'no-such-parameter': 'The plugin type reads no such parameter, and the reference ignores it too.',
  core: 'The picker does the work of this plugin itself.',
  'own-way':
    'The picker does this in its own way, which has no such setting, or takes another value than the given one, which the note says.',
  obsolete: 'The reference reads this and ignores it.',
  'gate-off': 'A feature gate that is off switches it off, as in the reference.',
  'switched-off':
    'Another parameter, or another part of the file, lets it count only with another value, as in the reference.',
  replicas: 'It says how replicas find each other and share: here `serve --replicas-nats` says it.',
  'not-built': 'It is not built here yet.',
  unverified: 'It works, but certificates are not verified.',
};

/** A part of a configuration that has no effect, or that should be written in another way. */
export interface ConfigNote {
  /** Such as `plugins[2].parameters.lruSize`. */
  readonly path: string;
  readonly reason: NoteReason;
  /** One sentence, with the path and with what to write instead, where there is something. */
  readonly text: string;
}
