package disk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sample is a disk with text, noise that does not become smaller, and zeros.
func sample(size int) []byte {
	all := make([]byte, size)
	noise := rand.NewChaCha8([32]byte{1})
	for at := 0; at < size; at += clusterSize {
		part := all[at:min(at+clusterSize, size)]
		switch at / clusterSize % 4 {
		case 0:
			for i := range part {
				part[i] = "the quick brown fox"[(i*i+at)%19]
			}
		case 1:
			_, _ = noise.Read(part)
		case 2:
			_, _ = noise.Read(part[:len(part)/3])
		}
	}
	return all
}

// TestWhatIsWrittenAsQcow2IsTheDisk: other readers than ours agree, where there are any.
func TestWhatIsWrittenAsQcow2IsTheDisk(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"a sector": 512, "a cluster": clusterSize, "no whole cluster": 3*clusterSize + 1536, "many": 300 * clusterSize, "noise and zeros": 2*clusterSize + 512} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := sample(size)
			path, told := written(t, disk), int64(0)
			image, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := CheckQcow2(image); err != nil || got != int64(size) {
				t.Fatalf("%d bytes (%v)", got, err)
			}
			r, err := RawReader(t.Context(), bytes.NewReader(image))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			read, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(read, disk) {
				t.Fatalf("%d bytes, not the same (%v)", len(read), err)
			}
			again, err := os.Create(filepath.Join(t.TempDir(), "again"))
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if err := WriteQcow2(t.Context(), again, bytes.NewReader(disk), int64(size), func(done int64) { told = done }); err != nil || told != int64(size) {
				t.Fatalf("%v, %d bytes told", err, told)
			}
			same, err := os.ReadFile(again.Name())
			if err != nil || sha256.Sum256(same) != sha256.Sum256(image) {
				t.Errorf("another time other bytes (%v)", err)
			}
			tried(t, path, disk)
		})
	}
}

func written(t *testing.T, disk []byte) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "disk.qcow2"))
	if err == nil {
		err = WriteQcow2(t.Context(), file, bytes.NewReader(disk), int64(len(disk)), func(int64) {})
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// tried lets QEMU look at the image: its tables are consistent, and the disk is the same.
func tried(t *testing.T, path string, disk []byte) {
	t.Helper()
	qemu, err := exec.LookPath("qemu-img")
	if err != nil {
		t.Log("qemu-img is not there")
		return
	}
	raw := filepath.Join(t.TempDir(), "disk.raw")
	if err := os.WriteFile(raw, disk, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "-f", "qcow2", path}, {"compare", "-f", "raw", "-F", "qcow2", raw, path}} {
		if out, err := exec.CommandContext(t.Context(), qemu, args...).CombinedOutput(); err != nil {
			t.Errorf("qemu-img %q: %v\n%s", args, err, out)
		}
	}
}

// TestWritingQcow2EndsWithItsContext, and with a disk that cannot be read or is too large.
func TestWritingQcow2EndsWithItsContext(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "disk.qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	why, broken := errors.New("enough"), errors.New("input/output error")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := WriteQcow2(ctx, file, bytes.NewReader(sample(512)), 512, nil); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if err := WriteQcow2(t.Context(), file, failing{broken}, 512, nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	for _, size := range []int64{0, -512, 700, Qcow2Size + 1} {
		if err := WriteQcow2(t.Context(), file, nil, size, nil); err == nil {
			t.Errorf("%d bytes are taken", size)
		}
	}
}

type failing struct{ error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.error }
