import type { Command } from 'commander';

/** What can follow a line of command names, such as `shadow top`. */
interface Node {
  /** The names of the commands so far, such as `shadow top`; empty for the program. */
  readonly path: string;
  readonly words: readonly Word[];
}

interface Word {
  readonly text: string;
  readonly about: string;
}

/** Every command below `program`, with what can follow it: commands and options. */
function nodesOf(command: Command, path: readonly string[] = []): readonly Node[] {
  const options = command.options.flatMap(({ long, description }) =>
    typeof long === 'string' ? [{ text: long, about: description }] : [],
  );
  const commands = command.commands.map((each) => ({
    text: each.name(),
    about: each.description(),
  }));
  const help = { text: '--help', about: 'show help' };
  return [
    { path: path.join(' '), words: [...commands, ...options, help] },
    ...command.commands.flatMap((each) => nodesOf(each, [...path, each.name()])),
  ];
}

/** The options that take one of some values, with these values. */
function choicesOf(command: Command): ReadonlyMap<string, readonly string[]> {
  const own = command.options.flatMap(({ long, argChoices }): [string, readonly string[]][] =>
    typeof long === 'string' && argChoices !== undefined ? [[long, argChoices]] : [],
  );
  return new Map([...own, ...command.commands.flatMap((each) => [...choicesOf(each)])]);
}

/** A script that completes the commands and options of `program` in a shell. */
export function completionScript(program: Command, shell: 'bash' | 'zsh' | 'fish'): string {
  if (shell === 'fish') return fishScript(program);
  const bash = bashScript(program);
  // zsh runs the completion functions of bash.
  return shell === 'bash' ? bash : `autoload -Uz bashcompinit && bashcompinit\n${bash}`;
}

function bashScript(program: Command): string {
  const name = program.name();
  const follows = nodesOf(program).map(
    ({ path, words }) => `    '${path}') words='${words.map(({ text }) => text).join(' ')}' ;;`,
  );
  const choices = [...choicesOf(program)].map(
    ([option, values]) => `    ${option}) words='${values.join(' ')}' ;;`,
  );
  const names = nodesOf(program).flatMap(({ path }) => (path === '' ? [] : [`'${path}'`]));
  return `# Completion for ${name}: commands, options and the values of some options; else files.
_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path='' words='' at next
  for ((at = 1; at < COMP_CWORD; at++)); do
    next="\${path:+$path }\${COMP_WORDS[at]}"
    case "$next" in ${names.join('|')}) path="$next" ;; *) break ;; esac
  done
  case "$path" in
${follows.join('\n')}
  esac
  case "$before" in
${choices.join('\n')}
    --*) [[ $current == --* ]] || words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name} ${name}
`;
}

function fishScript(program: Command): string {
  const name = program.name();
  const lines = nodesOf(program).flatMap(({ path, words }) => {
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
    return words.map(({ text, about }) => {
      const what = text.startsWith('--') ? `-l ${text.slice(2)}` : `-f -a ${text}`;
      const isCommand = !text.startsWith('--');
      return `complete -c ${name} -n '${seen}${isCommand ? none : ''}' ${what} -d '${quoted(about)}'`;
    });
  });
  return `# Completion for ${name}: commands and options.\n${lines.join('\n')}\n`;
}

/** Within single quotes of fish. */
function quoted(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}
