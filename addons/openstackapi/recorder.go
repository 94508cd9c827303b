package openstackapi

import "net/http"

// Recorder remembers the status that was written.
type Recorder struct {
	http.ResponseWriter
	Status int
}

// WriteHeader is http.ResponseWriter's.
func (w *Recorder) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
