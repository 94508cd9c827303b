package clusterctl

import (
	"fmt"
	"sync"
	"time"
)

// sayEvery is how often the number of applied objects is told.
const sayEvery = 5 * time.Second

// work is how far an installation is. On a slow machine the objects alone take minutes, in
// which no controller becomes available.
type work struct {
	objects int
	tell    func(string)

	mu      sync.Mutex
	done    int
	waiting string
	said    time.Time
}

// applied counts an object.
func (w *work) applied() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done++; w.done == w.objects || time.Since(w.said) >= sayEvery {
		w.say()
	}
}

// waits tells what is waited for.
func (w *work) waits(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = text
	w.say()
}

func (w *work) say() {
	w.said = time.Now()
	text := w.waiting
	if w.done < w.objects {
		text = fmt.Sprintf("%d of %d objects applied; %s", w.done, w.objects, text)
	}
	if w.tell != nil && text != "" {
		w.tell(text)
	}
}
