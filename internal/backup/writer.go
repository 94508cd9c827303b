package backup

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// parallelPacks is how many packs are encrypted and sent at once. Each is three
// times in memory.
const parallelPacks = 2

// chunkSize ends a chunk, in bytes; a chunk of one large object is longer.
const chunkSize = 512 << 10

// idTime is the form of the time with which IDs begin: when the backup was begun.
const idTime = "20060102t150405z"

// Object is one object of a cluster, to be written.
type Object struct {
	Group, Kind, Namespace, Name string
	// JSON is the whole object with its apiVersion and kind.
	JSON []byte
}

// Writer writes one backup. Nothing of it is listed until Commit has returned. It is
// not safe for concurrent use.
type Writer struct {
	r       *Repository
	id      string
	begun   time.Time
	k       keys
	to      recipients
	domain  string
	encoder *zstd.Encoder

	known    map[address]place     // stored by former backups
	own      map[address]reference // stored by this one
	sections map[string][]reference
	open     *pack
	chunk    []byte
	objects  int
	bytes    int64
	files    map[string]int64 // the sizes of files by section
	until    time.Time

	sending *errgroup.Group
	ctx     context.Context //nolint:containedctx // of the sending of this writer

	mu      sync.Mutex // for what follows, which the sending writes
	packs   []Part
	index   map[string]int
	written int64
}

// place is where a chunk that is stored already is.
type place struct {
	pack Part
	piece
}

// Begin begins a backup: it makes the repository if there is none, and looks up what
// former backups stored already.
func (r *Repository) Begin(ctx context.Context) (*Writer, error) {
	to, err := parseRecipients(r.options.Recipients)
	if err != nil {
		return nil, err
	}
	w := &Writer{r: r, begun: r.options.Now(), k: r.options.Key.derive(), to: to, domain: domain(r.options.Key.Signer(), to.names),
		known: map[address]place{}, own: map[address]reference{}, sections: map[string][]reference{}, index: map[string]int{}, files: map[string]int64{}}
	var suffix [4]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return nil, err
	}
	w.id = w.begun.UTC().Format(idTime) + "-" + hex.EncodeToString(suffix[:])
	if w.encoder, err = newEncoder(); err != nil {
		return nil, err
	}
	if err := r.create(ctx); err != nil {
		return nil, err
	}
	if err := w.register(ctx); err != nil {
		return nil, fmt.Errorf("beginning backup %s: %w", w.id, err)
	}
	if !r.options.Full {
		if err := w.learn(ctx); err != nil {
			return nil, fmt.Errorf("looking up former backups: %w", err)
		}
	}
	w.sending, w.ctx = errgroup.WithContext(ctx)
	w.sending.SetLimit(parallelPacks)
	return w, nil
}

// register stores that this backup has begun: prune leaves alone what it may rely on.
func (w *Writer) register(ctx context.Context) error {
	return w.r.put(ctx, writersFolder+w.id, []byte(w.begun.UTC().Format(time.RFC3339)+"\n"))
}

// KeepUntil makes Prune keep the backup until then, whatever else it keeps.
func (w *Writer) KeepUntil(until time.Time) { w.until = until.UTC() }

// Restart forgets the objects that were added. What is stored of them stays, and is
// used again.
func (w *Writer) Restart() {
	w.chunk, w.objects, w.bytes = w.chunk[:0], 0, 0
	delete(w.sections, sectionObjects)
}

// Add adds an object of the cluster. The same objects in the same order make the
// same chunks: a chunk ends after objects that their names choose, so that one
// object more or less changes one chunk.
func (w *Writer) Add(_ context.Context, o Object) error {
	line := bytes.NewBuffer(w.chunk)
	if err := json.Compact(line, o.JSON); err != nil {
		return fmt.Errorf("%s %s/%s: this is no JSON: %w", o.Kind, o.Namespace, o.Name, err)
	}
	w.bytes += int64(line.Len() - len(w.chunk))
	w.objects++
	w.chunk = append(line.Bytes(), '\n')
	name := w.k.name([]byte(o.Group + "/" + o.Kind + "/" + o.Namespace + "/" + o.Name))
	if len(w.chunk) < chunkSize && name[0]%32 != 0 {
		return nil
	}
	return w.cut()
}

// cut ends the chunk of objects.
func (w *Writer) cut() error {
	if len(w.chunk) == 0 {
		return nil
	}
	err := w.store(sectionObjects, w.chunk)
	w.chunk = w.chunk[:0]
	return err
}

// store adds a chunk to a section, and to a pack unless it is stored already.
func (w *Writer) store(section string, content []byte) error {
	if err := w.ctx.Err(); err != nil {
		return w.ended()
	}
	id := w.k.name(content)
	if at, ok := w.known[id]; ok {
		w.sections[section] = append(w.sections[section], reference{at.piece, w.packIndex(at.pack)})
		return nil
	}
	if one, ok := w.own[id]; ok {
		w.sections[section] = append(w.sections[section], one)
		return nil
	}
	if w.open == nil {
		w.mu.Lock()
		w.open = &pack{index: len(w.packs)}
		w.packs = append(w.packs, Part{})
		w.mu.Unlock()
	}
	w.own[id] = reference{w.open.add(id, w.encoder.EncodeAll(content, nil)), w.open.index}
	w.sections[section] = append(w.sections[section], w.own[id])
	if len(w.open.plain) >= packSize {
		return w.flush()
	}
	return nil
}

// packIndex is the index of a pack that is stored.
func (w *Writer) packIndex(p Part) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.index[p.SHA256]
	if !ok {
		at = len(w.packs)
		w.packs, w.index[p.SHA256] = append(w.packs, p), at
	}
	return at
}

// flush sends the pack that is being filled.
func (w *Writer) flush() error {
	full := w.open
	if full == nil {
		return nil
	}
	w.open = nil
	w.sending.Go(func() error {
		whole, err := full.encode(w.k, w.to, w.domain)
		if err != nil {
			return err
		}
		part := Part{digest(whole), int64(len(whole))}
		if err := w.r.put(w.ctx, packFolder+part.SHA256, whole); err != nil {
			return fmt.Errorf("storing a pack: %w", err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.packs[full.index], w.written = part, w.written+part.Size
		return nil
	})
	return nil
}

// ended is why the sending ended.
func (w *Writer) ended() error {
	if err := w.sending.Wait(); err != nil {
		return err
	}
	return context.Cause(w.ctx)
}

// Abort ends a backup without listing it, when what is being sent is stored. The next
// one finds it there.
func (w *Writer) Abort() { _ = w.sending.Wait() } // whoever asks for it knows why

// Write writes a whole snapshot as a backup.
func (r *Repository) Write(ctx context.Context, s *snapshot.Snapshot) (Backup, error) {
	w, err := r.Begin(ctx)
	if err != nil {
		return Backup{}, err
	}
	for _, o := range s.Objects {
		text, err := o.MarshalJSON()
		if err == nil {
			err = w.Add(ctx, Object{o.GroupVersionKind().Group, o.GetKind(), o.GetNamespace(), o.GetName(), text})
		}
		if err != nil {
			w.Abort()
			return Backup{}, err
		}
	}
	for name, content := range map[string][]byte{FileEtcd: s.Etcd, FileDatastore: s.Datastore, FileControllers: s.Applied} {
		if len(content) == 0 {
			continue
		}
		if _, err := w.AddFile(name, bytes.NewReader(content)); err != nil {
			w.Abort()
			return Backup{}, err
		}
	}
	return w.Commit(ctx, s)
}
