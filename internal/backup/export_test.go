package backup

// Newer is a backup as a newer Slipway could write it.
type Newer struct {
	ID   string
	Text []byte
}

// NewerBackup is a backup in the next format, signed rightly.
func NewerBackup(b Backup, key Key) Newer {
	b.Format, b.ID = Format+1, "99991231t235959z-00000000"
	text, err := b.encode(key.derive().sign)
	if err != nil {
		panic(err)
	}
	return Newer{b.ID, text}
}

// PiecesOf are the addresses in a pack.
func PiecesOf(key Key, recipients []string, whole []byte) ([]string, error) {
	to, err := parseRecipients(recipients)
	if err != nil {
		return nil, err
	}
	list, err := pieces(key.derive(), domain(key.Signer(), to.names), whole)
	var all []string
	for _, one := range list {
		all = append(all, string(one.ID[:]))
	}
	return all, err
}
