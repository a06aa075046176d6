import type { Command } from 'commander';
import { NAMED_CONFIGS } from '../../config/defaults.ts';

/** What can follow a line of command names, such as `shadow top`. */
interface Node {
  /** The names of the commands so far, such as `shadow top`; empty for the program. */
  readonly path: string;
  readonly words: readonly Word[];
  /** A file or folder is its argument, so that files are offered before options. */
  readonly takesFile: boolean;
  /** A configuration is its argument: a file, or the name of a built-in one. */
  readonly takesConfig: boolean;
}

interface Word {
  readonly text: string;
  readonly about: string;
  /** What may follow an option: nothing where it is left out, a file or a text where it is empty. */
  readonly values?: readonly string[];
  /** Whether it is followed by a configuration. */
  readonly isConfig?: boolean;
}

/** The names of arguments that are files or folders. */
const FILE_ARGUMENTS = new Set(['capture', 'in', 'out', 'page']);
/** How flags and arguments call a configuration: a file, or the name of a built-in one. */
const CONFIG = /\b(?:file\|name|name\|file)\b/;
const CONFIG_NAMES = [...NAMED_CONFIGS.keys()].join(' ');

/** Every command below `program`, with what can follow it: commands and options. */
function nodesOf(command: Command, path: readonly string[] = []): readonly Node[] {
  const options = command.options.flatMap(({ long, flags, description, required, argChoices }) => {
    if (typeof long !== 'string') return [];
    const values = required && { values: argChoices ?? [] };
    return [{ text: long, about: description, isConfig: CONFIG.test(flags), ...values }];
  });
  const values = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((text) => ({ text, about: description })),
  );
  const commands = command.commands.map((each) => ({
    text: each.name(),
    about: each.description(),
  }));
  const help = { text: '--help', about: 'show help' };
  return [
    {
      path: path.join(' '),
      words: [...commands, ...values, ...options, help],
      takesFile: command.registeredArguments.some((each) => FILE_ARGUMENTS.has(each.name())),
      takesConfig: command.registeredArguments.some((each) => CONFIG.test(each.name())),
    },
    ...command.commands.flatMap((each) => nodesOf(each, [...path, each.name()])),
  ];
}

/** A script that completes the commands and options of `program` in a shell. */
export function completionScript(program: Command, shell: 'bash' | 'zsh' | 'fish'): string {
  if (shell === 'fish') return fishScript(program);
  const bash = bashScript(program);
  return shell === 'bash' ? bash : `${ZSH}${bash}`;
}

/** zsh runs the completion functions of bash, once its own completion has begun. */
const ZSH = `(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
autoload -Uz bashcompinit && bashcompinit
`;

const FILES_FIRST = '; [[ $current == -* ]] || words=""';
/** Built-in configurations, and files beside them. */
const CONFIGS = `words='${CONFIG_NAMES}' files=yes`;
const CONFIGS_FIRST = `; [[ $current == -* ]] || ${CONFIGS}`;

function bashScript(program: Command): string {
  const name = program.name();
  const follows = nodesOf(program).map(
    ({ path, words, takesFile, takesConfig }) =>
      `    '${path}') words='${words.map(({ text }) => text).join(' ')}'${takesFile ? FILES_FIRST : ''}${takesConfig ? CONFIGS_FIRST : ''} ;;`,
  );
  const options = new Map(
    nodesOf(program).flatMap(({ words }) =>
      words.flatMap(({ text, values = [], isConfig }) => {
        if (isConfig === true) return [[text, CONFIGS] as const];
        return values.length === 0 ? [] : [[text, `words='${values.join(' ')}' files=''`] as const];
      }),
    ),
  );
  const choices = [...options].map(([option, sets]) => `    ${option}) ${sets} ;;`);
  const names = nodesOf(program).flatMap(({ path }) => (path === '' ? [] : [`'${path}'`]));
  return `# Completion for ${name}: commands, options and the values of some options; else files.
_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path='' words='' files='' at next
  for ((at = 1; at < COMP_CWORD; at++)); do
    next="\${path:+$path }\${COMP_WORDS[at]}"
    case "$next" in ${names.join('|')}) path="$next" ;; *) break ;; esac
  done
  case "$path" in
${follows.join('\n')}
  esac
  case "$before" in
${choices.join('\n')}
    --*) [[ $current == --* ]] || { words='' files=''; } ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ -z $files ]] || while read -r next; do COMPREPLY+=("$next"); done < <(compgen -f -- "$current")
}
complete -o default -F _${name} ${name}
`;
}

function fishScript(program: Command): string {
  const name = program.name();
  const lines = nodesOf(program).flatMap(({ path, words, takesConfig }) => {
    const [first = '', second] = path.split(' ');
    const others = words.filter(({ text }) => !text.startsWith('-')).map(({ text }) => text);
    const seen =
      path === ''
        ? '__fish_use_subcommand'
        : `__fish_seen_subcommand_from ${first}${second === undefined ? '' : `; and __fish_seen_subcommand_from ${second}`}`;
    const none =
      path === '' || others.length === 0
        ? ''
        : `; and not __fish_seen_subcommand_from ${others.join(' ')}`;
    const configs = takesConfig ? [`complete -c ${name} -n '${seen}' -a '${CONFIG_NAMES}'`] : [];
    const offers = words.map((word) => {
      const { text, about } = word;
      const what = text.startsWith('--') ? `-l ${text.slice(2)}${value(word)}` : `-f -a ${text}`;
      const isCommand = !text.startsWith('--');
      return `complete -c ${name} -n '${seen}${isCommand ? none : ''}' ${what} -d '${quoted(about)}'`;
    });
    return [...configs, ...offers];
  });
  return `# Completion for ${name}: commands and options.\n${lines.join('\n')}\n`;
}

/** What follows an option of fish: nothing, one of some values, or a file. */
function value({ values, isConfig }: Word): string {
  if (values === undefined) return '';
  if (isConfig === true) return ` -r -a '${CONFIG_NAMES}'`;
  return values.length === 0 ? ' -r' : ` -x -a '${values.join(' ')}'`;
}

/** Within single quotes of fish. */
function quoted(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}
