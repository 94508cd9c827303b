package store

// Reader is the right to read: what View and Update give. Only this package
// makes one.
type Reader interface{ reads() }

type view struct{}

func (view) reads() {}

// Tx is the right to read and write, for the time of one Update.
type Tx struct {
	store  *Store
	writes []write
	undo   []func()
	notify []func()
	err    error
}

func (*Tx) reads() {}

// write is one record to put in the file, or to delete when value is nil.
type write struct {
	table, id string
	seq       uint64
	value     []byte
}

// fail makes the transaction fail at its end; the first error counts.
func (tx *Tx) fail(err error) {
	if tx.err == nil {
		tx.err = err
	}
}

func (tx *Tx) rollback() {
	for i := len(tx.undo) - 1; i >= 0; i-- {
		tx.undo[i]()
	}
}

func (tx *Tx) publish() {
	for _, notify := range tx.notify {
		notify()
	}
}
