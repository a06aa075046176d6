/** One thing that `pointsman doctor` has found. */
export interface Finding {
  /**
   * `error`: something breaks, now or under load. `warning`: something is worse than it could be.
   */
  readonly severity: 'error' | 'warning';
  /** Names the kind of finding; stays the same over releases. */
  readonly id: string;
  /** What it is about, such as a cluster of Envoy. */
  readonly where: string;
  /** What was found, and what happens because of it. */
  readonly what: string;
  /** What to do about it, or with the lines. */
  readonly mend?: string;
  /** Lines to paste, in YAML. */
  readonly lines?: readonly string[];
}

/** The finding where the condition holds, and none otherwise. */
export function when<T extends Omit<Finding, 'where'>>(
  condition: boolean,
  finding: T,
): readonly T[] {
  return condition ? [finding] : [];
}

/** Findings as text, errors first, with a line that counts them. */
export function findingsText(findings: readonly Finding[], lookedAt: readonly string[]): string {
  const rank = { error: 0, warning: 1 };
  const sorted = findings.toSorted((a, b) => rank[a.severity] - rank[b.severity]);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings = findings.length - errors;
  const sum =
    findings.length === 0
      ? 'nothing to complain about'
      : `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`;
  const blocks = sorted.map((finding) => [...blockOf(finding), ''].join('\n'));
  return `${[...blocks, `looked at ${lookedAt.join('; ') || 'nothing'}: ${sum}`].join('\n')}\n`;
}

function blockOf({ severity, id, where, what, mend, lines = [] }: Finding): readonly string[] {
  return [
    `${severity.toUpperCase()} ${id}: ${where}`,
    `  ${what}`,
    ...(mend === undefined ? [] : [`  ${mend}`]),
    ...(lines.length === 0 || mend !== undefined ? [] : ['  it should have:']),
    ...lines.map((line) => `    ${line}`),
  ];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
