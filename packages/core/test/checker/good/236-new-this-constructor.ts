// style: new this constructor
class Money {
  constructor(amount) { this.amount = amount; }
  add(other) { return new this.constructor(this.amount + other.amount); }
}
return new Money(2).add(new Money(3)).amount;
