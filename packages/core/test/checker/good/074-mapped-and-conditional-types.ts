// style: over-typed TypeScript
type Nullable<T> = { [K in keyof T]: T[K] | null };
type ElementOf<T> = T extends readonly (infer U)[] ? U : never;
type Contact = ElementOf<Awaited<ReturnType<typeof tools.crm.contacts.list>>['items']>;
type Brief = Nullable<Pick<Contact, 'name' | 'email' | 'score'>>;

const brief = ({ name, email, score }: Contact): Brief => ({ name, email, score: score > 50 ? score : null });
const { items } = await tools.crm.contacts.list({ limit: 5 });
const briefs: Brief[] = items.map(brief);
return briefs.filter((b): b is Brief & { score: number } => b.score !== null).map((b) => b.score.toFixed(1));
