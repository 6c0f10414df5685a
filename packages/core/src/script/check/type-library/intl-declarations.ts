/**
 * The guest's Intl, which supports en-US, UTC and fixed offsets. Options that are accepted and change nothing
 * (`localeMatcher`, `numberingSystem`) are declared, so that ordinary code passes the check.
 */
export const INTL_DECLARATIONS = `
declare namespace Intl {
  type LocalesArgument = string | readonly string[] | undefined;
  interface LocaleOptions {
    localeMatcher?: string;
    numberingSystem?: string;
  }
  interface SupportedLocales {
    supportedLocalesOf(locales: LocalesArgument, options?: LocaleOptions): string[];
  }
  function getCanonicalLocales(locales?: LocalesArgument): string[];

  interface NumberFormatOptions extends LocaleOptions {
    compactDisplay?: 'short' | 'long';
    currency?: string;
    currencyDisplay?: 'symbol' | 'narrowSymbol' | 'code' | 'name';
    currencySign?: 'standard' | 'accounting';
    maximumFractionDigits?: number;
    maximumSignificantDigits?: number;
    minimumFractionDigits?: number;
    minimumIntegerDigits?: number;
    minimumSignificantDigits?: number;
    notation?: 'standard' | 'scientific' | 'engineering' | 'compact';
    roundingIncrement?: number;
    roundingMode?: 'ceil' | 'floor' | 'expand' | 'trunc' | 'halfCeil' | 'halfFloor' | 'halfExpand' | 'halfTrunc' | 'halfEven';
    roundingPriority?: 'auto' | 'morePrecision' | 'lessPrecision';
    signDisplay?: 'auto' | 'never' | 'always' | 'exceptZero' | 'negative';
    style?: 'decimal' | 'percent' | 'currency' | 'unit';
    trailingZeroDisplay?: 'auto' | 'stripIfInteger';
    unit?: string;
    unitDisplay?: 'short' | 'narrow' | 'long';
    useGrouping?: boolean | 'min2' | 'auto' | 'always' | 'true' | 'false';
  }
  interface ResolvedNumberFormatOptions extends NumberFormatOptions {
    locale: string;
    numberingSystem: string;
  }
  interface NumberFormatPart {
    type: 'literal' | 'nan' | 'infinity' | 'percentSign' | 'minusSign' | 'plusSign' | 'integer' | 'group' | 'decimal' | 'fraction' | 'currency' | 'unit' | 'compact' | 'exponentSeparator' | 'exponentMinusSign' | 'exponentInteger';
    value: string;
  }
  interface NumberFormat {
    readonly format: (value: number | bigint | string) => string;
    formatToParts(value?: number | bigint | string): NumberFormatPart[];
    resolvedOptions(): ResolvedNumberFormatOptions;
    readonly [Symbol.toStringTag]: string;
  }
  interface NumberFormatConstructor extends SupportedLocales {
    new (locales?: LocalesArgument, options?: NumberFormatOptions): NumberFormat;
    (locales?: LocalesArgument, options?: NumberFormatOptions): NumberFormat;
    readonly prototype: NumberFormat;
  }
  const NumberFormat: NumberFormatConstructor;

  interface DateTimeFormatOptions extends LocaleOptions {
    calendar?: string;
    dateStyle?: 'full' | 'long' | 'medium' | 'short';
    day?: 'numeric' | '2-digit';
    era?: 'long' | 'short' | 'narrow';
    formatMatcher?: string;
    fractionalSecondDigits?: 1 | 2 | 3;
    hour12?: boolean;
    hour?: 'numeric' | '2-digit';
    hourCycle?: 'h11' | 'h12' | 'h23' | 'h24';
    minute?: 'numeric' | '2-digit';
    month?: 'numeric' | '2-digit' | 'long' | 'short' | 'narrow';
    second?: 'numeric' | '2-digit';
    timeStyle?: 'full' | 'long' | 'medium' | 'short';
    timeZone?: string;
    timeZoneName?: 'short' | 'long' | 'shortOffset' | 'longOffset' | 'shortGeneric' | 'longGeneric';
    weekday?: 'long' | 'short' | 'narrow';
    year?: 'numeric' | '2-digit';
  }
  interface ResolvedDateTimeFormatOptions extends DateTimeFormatOptions {
    calendar: string;
    locale: string;
    numberingSystem: string;
    timeZone: string;
  }
  interface DateTimeFormatPart {
    type: 'literal' | 'weekday' | 'era' | 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'fractionalSecond' | 'dayPeriod' | 'timeZoneName';
    value: string;
  }
  interface DateTimeFormat {
    readonly format: (date?: Date | number) => string;
    formatRange(start: Date | number, end: Date | number): string;
    formatToParts(date?: Date | number): DateTimeFormatPart[];
    resolvedOptions(): ResolvedDateTimeFormatOptions;
    readonly [Symbol.toStringTag]: string;
  }
  interface DateTimeFormatConstructor extends SupportedLocales {
    new (locales?: LocalesArgument, options?: DateTimeFormatOptions): DateTimeFormat;
    (locales?: LocalesArgument, options?: DateTimeFormatOptions): DateTimeFormat;
    readonly prototype: DateTimeFormat;
  }
  const DateTimeFormat: DateTimeFormatConstructor;

  interface CollatorOptions {
    caseFirst?: 'upper' | 'lower' | 'false';
    collation?: string;
    ignorePunctuation?: boolean;
    localeMatcher?: string;
    numeric?: boolean;
    sensitivity?: 'base' | 'accent' | 'case' | 'variant';
    usage?: 'sort' | 'search';
  }
  interface ResolvedCollatorOptions extends Required<Omit<CollatorOptions, 'localeMatcher'>> {
    locale: string;
  }
  interface Collator {
    readonly compare: (first: string, second: string) => number;
    resolvedOptions(): ResolvedCollatorOptions;
    readonly [Symbol.toStringTag]: string;
  }
  interface CollatorConstructor extends SupportedLocales {
    new (locales?: LocalesArgument, options?: CollatorOptions): Collator;
    (locales?: LocalesArgument, options?: CollatorOptions): Collator;
    readonly prototype: Collator;
  }
  const Collator: CollatorConstructor;

  type LDMLPluralRule = 'zero' | 'one' | 'two' | 'few' | 'many' | 'other';
  interface PluralRulesOptions extends LocaleOptions {
    maximumFractionDigits?: number;
    maximumSignificantDigits?: number;
    minimumFractionDigits?: number;
    minimumIntegerDigits?: number;
    minimumSignificantDigits?: number;
    type?: 'cardinal' | 'ordinal';
  }
  interface ResolvedPluralRulesOptions extends PluralRulesOptions, Pick<NumberFormatOptions, 'roundingIncrement' | 'roundingMode' | 'roundingPriority' | 'trailingZeroDisplay'> {
    locale: string;
    pluralCategories: LDMLPluralRule[];
    type: 'cardinal' | 'ordinal';
  }
  interface PluralRules {
    resolvedOptions(): ResolvedPluralRulesOptions;
    select(value: number): LDMLPluralRule;
    readonly [Symbol.toStringTag]: string;
  }
  interface PluralRulesConstructor extends SupportedLocales {
    new (locales?: LocalesArgument, options?: PluralRulesOptions): PluralRules;
    readonly prototype: PluralRules;
  }
  const PluralRules: PluralRulesConstructor;

  interface ListFormatOptions {
    localeMatcher?: string;
    style?: 'long' | 'short' | 'narrow';
    type?: 'conjunction' | 'disjunction' | 'unit';
  }
  interface ResolvedListFormatOptions {
    locale: string;
    style: 'long' | 'short' | 'narrow';
    type: 'conjunction' | 'disjunction' | 'unit';
  }
  interface ListFormat {
    format(list: Iterable<string>): string;
    formatToParts(list: Iterable<string>): { type: 'element' | 'literal'; value: string }[];
    resolvedOptions(): ResolvedListFormatOptions;
    readonly [Symbol.toStringTag]: string;
  }
  interface ListFormatConstructor extends SupportedLocales {
    new (locales?: LocalesArgument, options?: ListFormatOptions): ListFormat;
    readonly prototype: ListFormat;
  }
  const ListFormat: ListFormatConstructor;

  type RelativeTimeFormatUnitSingular = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';
  type RelativeTimeFormatUnit = RelativeTimeFormatUnitSingular | \`\${RelativeTimeFormatUnitSingular}s\`;
  interface RelativeTimeFormatOptions extends LocaleOptions {
    numeric?: 'always' | 'auto';
    style?: 'long' | 'short' | 'narrow';
  }
  interface ResolvedRelativeTimeFormatOptions {
    locale: string;
    numberingSystem: string;
    numeric: 'always' | 'auto';
    style: 'long' | 'short' | 'narrow';
  }
  interface RelativeTimeFormatPart {
    type: NumberFormatPart['type'];
    value: string;
    unit?: RelativeTimeFormatUnitSingular;
  }
  interface RelativeTimeFormat {
    format(value: number, unit: RelativeTimeFormatUnit): string;
    formatToParts(value: number, unit: RelativeTimeFormatUnit): RelativeTimeFormatPart[];
    resolvedOptions(): ResolvedRelativeTimeFormatOptions;
    readonly [Symbol.toStringTag]: string;
  }
  interface RelativeTimeFormatConstructor extends SupportedLocales {
    new (locales?: LocalesArgument, options?: RelativeTimeFormatOptions): RelativeTimeFormat;
    readonly prototype: RelativeTimeFormat;
  }
  const RelativeTimeFormat: RelativeTimeFormatConstructor;
}
`;
