/** Texts that programs have stumbled over: each stands for a kind of mistake. */
export const NAUGHTY_STRINGS: readonly string[] = [
  // Nothing, and what looks like nothing; lines, NUL, letters that combine, surrogates on their own.
  ...['', ' ', '\t', '\u0000', 'a\u0000b', '\u200b', '\ufeff', '\u2028', '\u00a0'],
  ...['\r\n', 'a\r\nb: c', '\n\n'],
  ...['e\u0301', '\u0301', '\u202eexample', '\ud800', 'a\udfffb'],
  // Values and names that objects have, and numbers at their ends.
  ...'null undefined NaN true __proto__ constructor prototype toString hasOwnProperty'.split(' '),
  ...'__typename __schema 0 -1 1e309 -0 9007199254740993 99999999999999999999999999'.split(' '),
  ...'0x7f000001 1/0 ٣٤'.split(' '),
  // Paths and addresses.
  ...'. .. ../../../../etc/passwd ..\\..\\ %2e%2e%2f // file:///etc/passwd //127.0.0.1/'.split(' '),
  ...'127.0.0.1 [::1] localhost'.split(' '),
  // Quotes, escapes and the syntax of others.
  ...["' OR 1=1 --", "'; DROP TABLE domain; --", '[object Object]', '<!DOCTYPE html>', '/* */', '\'"`'],
  ...String.raw`$1 \ \x00 \u0000 $${'{'}7*7} {{7*7}} %s%s%n %d <script>alert(1)</script> &lt;`.split(' '),
  ...'$(id) |id # ? &a=b ; *'.split(' '),
  // Percent signs that mean nothing.
  ...'% %0 %zz %00 %2F %ff %C0%AF %ED%A0%80 %F4%90%80%80 %u0041 %25%30%30'.split(' '),
  // Letters of the world, and what they turn into.
  ...'ﬃ ß İ ı ſ Ａ K 。 bücher.example xn--bcher-kva.example xn-- xn--a xn--zzzzzzzzzzzzzzzz'.split(' '),
  ...'日本語.example 👩‍👩‍👧 Z̮̞̠͙͔ͅ'.split(' '),
  // Names of domains that are none.
  ...'.example.com example..com -a.example a-.example example.com. example.com.. *.example.com'.split(' '),
  ...['a b.example', `${'a'.repeat(64)}.example`, `${'a.'.repeat(126)}ab`, `${'a.'.repeat(127)}ab`],
  ...['a'.repeat(300), 'a'.repeat(5000)],
];
