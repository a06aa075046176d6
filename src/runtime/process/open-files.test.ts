import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const MODULE = join(import.meta.dirname, 'open-files.ts');

it.skipIf(process.platform === 'win32')(
  '[V492] finds that the process has as many files open as it may',
  () => {
    const script = `
      import { openSync } from 'node:fs';
      import { canOpenFile } from ${JSON.stringify(MODULE)};
      const found = [canOpenFile()];
      try { for (;;) openSync('/dev/null', 'r'); } catch {}
      found.push(canOpenFile());
      process.stdout.write(JSON.stringify(found));`;
    const shell = `ulimit -n 64; exec "${process.execPath}" --input-type=module -e "$0"`;
    const printed = execFileSync('sh', ['-c', shell, script], { encoding: 'utf8' });
    expect(JSON.parse(printed)).toEqual([true, false]);
  },
);

it.skipIf(process.platform === 'win32')(
  '[V564] finds that only three more files can be opened, and keeps none of them open',
  () => {
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { hasSpareFiles } from ${JSON.stringify(MODULE)};
      const opened = [];
      try { for (;;) opened.push(openSync('/dev/null', 'r')); } catch {}
      const found = [hasSpareFiles()];
      for (let n = 0; n < 4; n++) {
        closeSync(opened.pop());
        found.push(hasSpareFiles());
      }
      process.stdout.write(JSON.stringify(found));`;
    const shell = `ulimit -n 64; exec "${process.execPath}" --input-type=module -e "$0"`;
    const printed = execFileSync('sh', ['-c', shell, script], { encoding: 'utf8' });
    expect(JSON.parse(printed)).toEqual([false, false, false, false, true]);
  },
);
