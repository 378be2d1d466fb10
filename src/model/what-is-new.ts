export const WHAT_IS_NEW =
  'For what is new at any domain, search domains by changedFrom or createdFrom, or read changes after your last cursor.';

/** A further sentence for who asks by a time where no such condition is. @param name Of that condition. */
export function adviceOnTime(name: string): string {
  return /(?:^|\w)(?:from|to|since|until)$/i.test(name) ? ` ${WHAT_IS_NEW}` : '';
}
