// Machines for the tests.
export const evil = `<img src=x onerror="window.hacked = 1">`;

/** kinds has an input of every kind, and names that are no HTML. */
export const kinds = `fsm: 1
machine: kinds
entity: Thing
doc: '${evil} is text'
otherwise: reject
requests: {request_id: optional, expected_rev: optional}
fields:
  title: {type: string, doc: '${evil}'}
  size: int 1..9
  urgent: bool
  until: time
  notes: json
  tags: set
  level: low | high | none_at_all
  hint: optional string
states:
  open: {doc: '${evil}'}
  shut: {terminal: true}
guards:
  large: {when: size >= input.least, error: too_small, message: '${evil}'}
operations:
  make:
    doc: '${evil}'
    creates: open
    set: {title: input, size: input, urgent: input, until: input, notes: input, tags: input, level: input, hint: input or absent}
  close: {from: open, to: shut, require: [large], input: {least: int}}
  force: {by: operator, from: open, to: shut}
  expire: {by: system, from: open, to: shut, trigger: [after until]}
forbidden:
  - {from: open, to: open, reason: '${evil}'}
`;

export const small = `fsm: 1
machine: job
entity: Job
otherwise: reject
fields: {owner: optional string}
states:
  open: {absent: [owner]}
  busy: {present: [owner]}
  shut: {terminal: true}
operations:
  make: {creates: open}
  take: {from: open, to: busy, set: {owner: actor}}
  close: {from: busy, to: shut, clear: [owner]}
`;

export const outbox = `fsm: 1
machine: mail
entity: Mail
otherwise: reject
fields: {address: string}
states:
  waiting: {}
  sending: {}
  sent: {terminal: true}
operations:
  write: {creates: waiting, set: {address: input}}
  send: {from: waiting, to: sending, effect: {name: deliver, key: address, then: done}}
  done: {by: system, from: sending, to: sent}
unique:
  once: {fields: address, in: [waiting, sending, sent], error: known}
`;
