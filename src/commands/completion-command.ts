import { Argument, Command } from 'commander';
import { completionScript } from './output/completion-script.ts';

/** `pointsman completion`: `all` makes the program with every command. */
export function completionCommand(all: () => Promise<Command>): Command {
  return new Command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
bash:  echo 'source <(pointsman completion bash)' >> ~/.bashrc
zsh:   echo 'source <(pointsman completion zsh)' >> ~/.zshrc
fish:  pointsman completion fish > ~/.config/fish/completions/pointsman.fish`,
    )
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      process.stdout.write(completionScript(await all(), shell));
    });
}
