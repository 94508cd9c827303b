package upstream

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
)

// unpackFactor times the bound of a download bounds what is decompressed to
// find a member.
const unpackFactor = 4

// memberError says that an archive does not have the member wanted.
type memberError struct{ text string }

func (e *memberError) Error() string { return e.text }

// unpack finds a regular file in a .tar.gz and hands it to take. A member of
// more than limit bytes is an error before any of it is read, and so is an
// archive that grows without end before the member comes.
func unpack(archive io.Reader, member string, limit int64, take func(io.Reader) error) error {
	return walk(archive, limit, func(header *tar.Header, r io.Reader) (bool, error) {
		if path.Clean(header.Name) != path.Clean(member) {
			return true, nil
		}
		if header.Typeflag != tar.TypeReg {
			return false, &memberError{fmt.Sprintf("%s in the archive is not a regular file", member)}
		}
		if header.Size > limit {
			return false, &sizeError{member + " in the archive", header.Size, limit}
		}
		return false, take(r)
	}, &memberError{fmt.Sprintf("the archive has no %s", member)})
}

// walk calls visit for each entry until it says no more; missing is returned
// at the end of the archive.
func walk(archive io.Reader, limit int64, visit func(*tar.Header, io.Reader) (more bool, err error), missing error) error {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return &memberError{fmt.Sprintf("the file is not a gzip archive: %v", err)}
	}
	defer unzipped.Close()
	bounded := &io.LimitedReader{R: unzipped, N: unpackFactor * limit}
	tr := tar.NewReader(bounded)
	for {
		header, err := tr.Next()
		if err != nil && bounded.N <= 0 {
			return &sizeError{"the unpacked archive", unpackFactor*limit + 1, unpackFactor * limit}
		}
		if errors.Is(err, io.EOF) {
			return missing
		}
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		if more, err := visit(header, tr); err != nil || !more {
			return err
		}
	}
}
