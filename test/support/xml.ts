import { SaxesParser } from 'saxes';

/** What is wrong with a document of XML, by a parser that checks all that is well-formedness; null: nothing. */
export function xmlFault(text: string): string | null {
  const parser = new SaxesParser({ xmlns: true });
  let fault: string | null = null;
  parser.on('error', (error) => {
    fault ??= error.message;
  });
  parser.write(text).close();
  return fault;
}

export function readElement(document: string): { readonly text: string; readonly attribute: string } {
  const parser = new SaxesParser();
  const found = { text: '', attribute: '' };
  parser.on('text', (text) => {
    found.text += text;
  });
  parser.on('opentag', ({ attributes }) => {
    found.attribute = String(attributes['a']);
  });
  parser.write(document).close();
  return found;
}
