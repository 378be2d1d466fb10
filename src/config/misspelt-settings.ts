import { UsageError } from '../model/errors.js';

/** Of shorter names, too many are another program's: HOST, PORT, ROLE. */
const LEAST_LENGTH = 6;

/**
 * Rejects a variable that is no setting, but one in another case or but for one edit in its name. Another program may have a
 * variable of such a name: an edit is rejected only while the setting itself is not set.
 *
 * @param settings The names of all settings.
 * @throws UsageError that names the variable and the setting that was meant.
 */
export function rejectMisspelt(
  environment: Readonly<Record<string, string | undefined>>,
  settings: ReadonlySet<string>,
): void {
  for (const name of Object.keys(environment)) {
    if (settings.has(name)) continue;
    const upper = name.toUpperCase();
    if (settings.has(upper)) throw new UsageError(`${name} is not a setting: write ${upper}.`);
    const meant = [...settings].find(
      (setting) => setting.length >= LEAST_LENGTH && !(setting in environment) && isOneEdit(name, setting),
    );
    if (meant === undefined) continue;
    throw new UsageError(
      `${name} is not a setting: write ${meant}. If another program reads ${name}, set ${meant} too, or to nothing.`,
    );
  }
}

/** Whether one letter is missing, too many or another, or two stand in each other's place. */
function isOneEdit(one: string, other: string): boolean {
  let begin = 0;
  while (begin < one.length && one[begin] === other[begin]) begin += 1;
  let [oneEnd, otherEnd] = [one.length, other.length];
  while (oneEnd > begin && otherEnd > begin && one[oneEnd - 1] === other[otherEnd - 1]) {
    oneEnd -= 1;
    otherEnd -= 1;
  }
  const [a, b] = [one.slice(begin, oneEnd), other.slice(begin, otherEnd)];
  return (a.length <= 1 && b.length <= 1) || (a.length === 2 && a === `${b[1]}${b[0]}`);
}
