// style: state property changes type
const state = { value: 0, label: '' };
state.value = 'abc';
return state.value.toUpperCase();
