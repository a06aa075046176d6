import { spawn } from 'node:child_process';

/** Waits for its input to end, which the system sees to. Ctrl-C at a terminal is for us, who may take a while yet. */
const SCRIPT = 'trap "" INT HUP TERM; read -r _; kill -9 "$1" 2>/dev/null; rm -rf "$2"';

/**
 * Has a process that is not ours to change ended, and its folder deleted, when this one is gone, even by SIGKILL, where
 * there is a POSIX shell. The function returned ends the watch: to be called once the process has ended by itself.
 */
export function guardProcess(pid: number, folder: string): () => void {
  const guard = spawn('/bin/sh', ['-c', SCRIPT, 'pointsman-guard', String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a shell it is as it was: ended by all that lets us run on.
  guard.once('error', () => undefined);
  return () => void guard.kill('SIGKILL');
}
