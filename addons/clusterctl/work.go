package clusterctl

import (
	"fmt"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/kube"
)

// sayEvery is how often the number of applied objects is reported.
const sayEvery = 5 * time.Second

// work is how far an installation is. On a slow machine, applying the objects takes minutes in
// which no controller becomes available.
type work struct {
	objects int
	tell    func(string)

	mu       sync.Mutex
	done     int
	waiting  string
	unserved string
	said     time.Time
}

func (w *work) progress() kube.Progress { return kube.Progress{Applied: w.applied, Unserved: w.serves} }

// serves reports which definition the API server does not serve yet. It is called at each check.
func (w *work) serves(definition string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unserved = definition
	if time.Since(w.said) >= sayEvery {
		w.say()
	}
}

// applied counts an object.
func (w *work) applied() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unserved = ""
	if w.done++; w.done == w.objects || time.Since(w.said) >= sayEvery {
		w.say()
	}
}

// waits reports what is waited for.
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
		applied := fmt.Sprintf("%d of %d objects applied", w.done, w.objects)
		if w.unserved != "" {
			applied += ", definition " + w.unserved + " not served yet"
		}
		text = applied + "; " + text
	}
	if w.tell != nil && text != "" {
		w.tell(text)
	}
}
