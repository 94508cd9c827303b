package machine

// Refusal is why a driver does not make a machine, if its owner can change that: the
// image has no boot loader, the flavor asks for a driver that is not there. Others see
// only that no host would take the machine, as with Nova; a refusal is told.
type Refusal struct{ Reason string }

// Error is the reason.
func (r *Refusal) Error() string { return r.Reason }
