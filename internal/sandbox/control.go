package sandbox

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// controlPath is the path on which the command line talks to the process; no service of OpenStack
// uses it.
const controlPath = "/-/"

// Status is what a running cloud says about itself.
type Status struct {
	// URL is where clients and machines find the cloud.
	URL     string    `json:"url"`
	PID     int       `json:"pid"`
	Driver  string    `json:"driver"`
	Factor  float64   `json:"factor"`
	Started time.Time `json:"started"`
	// Services are the types of the APIs that are served.
	Services []string `json:"services"`
	Faults   int      `json:"faults"`
}

// control serves the calls of Control to clients that have the secret of the folder.
func (c *Cloud) control() http.Handler {
	started := c.Env.Timing.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/status", func(w http.ResponseWriter, _ *http.Request) {
		s := Status{URL: c.URL(), PID: os.Getpid(), Driver: c.options.Host.Name(), Factor: c.options.Factor,
			Started: started, Faults: len(c.Faults.List())}
		for _, service := range c.services {
			s.Services = append(s.Services, service.Type)
		}
		answer(w, s, nil)
	})
	mux.HandleFunc("GET /-/faults", func(w http.ResponseWriter, _ *http.Request) { answer(w, c.Faults.List(), nil) })
	mux.HandleFunc("POST /-/faults", c.addFault)
	mux.HandleFunc("DELETE /-/faults/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, c.Faults.Remove(r.PathValue("id")))
	})
	mux.HandleFunc("DELETE /-/faults", func(w http.ResponseWriter, _ *http.Request) { answer(w, struct{}{}, c.Faults.Clear()) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(controlHeader)), []byte(c.secrets.Control)) != 1 {
			http.Error(w, "the control secret is missing or wrong", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (c *Cloud) addFault(w http.ResponseWriter, r *http.Request) {
	var rule faultinject.Rule
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&rule); err != nil {
		answer(w, nil, err)
		return
	}
	added, err := c.Faults.Add(rule)
	answer(w, added, err)
}

// answer writes the value, or the error as text.
func answer(w http.ResponseWriter, value any, err error) {
	switch {
	case errors.Is(err, faultinject.ErrNotFound):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value) // the client may have gone
	}
}
