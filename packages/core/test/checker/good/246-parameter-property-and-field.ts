// style: parameter property and field
class User { name: string; constructor(public name: string) {} }
return new User('Ada').name;
