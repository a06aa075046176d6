import { z } from 'zod';

const advisory = z.object({ title: z.string(), url: z.string().optional() });

/** What `npm audit --json` prints where the registry has answered. */
const answerSchema = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({
      severity: z.string(),
      range: z.string(),
      via: z.array(z.union([z.string(), advisory])),
    }),
  ),
});

/** What it prints where the registry has not. */
const errorSchema = z.object({ message: z.string() });

const FAILING: readonly string[] = ['high', 'critical'];

interface AuditVerdict {
  readonly text: string;
  readonly failed: boolean;
}

/** Reads the output of `npm audit --json`. */
export function auditVerdict(output: string): AuditVerdict {
  const parsed = parsedJson(output);
  const answer = answerSchema.safeParse(parsed);
  if (!answer.success) {
    const { data } = errorSchema.safeParse(parsed);
    const why = data?.message.replace(/ - .*/, '') ?? 'it gave no answer';
    return {
      text: `NOT AUDITED: the registry cannot be asked for vulnerabilities (${why})`,
      failed: false,
    };
  }
  const found = Object.entries(answer.data.vulnerabilities);
  const lines = found.map(([name, { severity, range, via }]) => {
    const titles = via.map((each) => (typeof each === 'string' ? `through ${each}` : each.title));
    return `${severity}: ${name} ${range}: ${titles.join('; ')}`;
  });
  const failed = found.some(([, { severity }]) => FAILING.includes(severity));
  const summary =
    found.length === 0
      ? 'audited: no known vulnerability in what is shipped'
      : `audited: ${found.length} packages with known vulnerabilities`;
  return { text: [...lines, summary].join('\n'), failed };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
