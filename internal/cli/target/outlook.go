package target

import (
	"context"

	"github.com/slipway-sh/slipway/internal/forecast"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// Outlook is what up would do now, and what that replaces.
type Outlook struct {
	engine.Plan
	// Forecast is nil if there is no management cluster that was ready once, or nothing would
	// change.
	Forecast *forecast.Forecast `json:"forecast,omitempty"`
	// Shelved is why what would change cannot be changed now; nil if it can.
	Shelved error `json:"-"`
}

// Outlook checks the environment, and compares it with its state. The cloud is only read, and
// nothing is written; it takes no lock, so beside an up it is one of what is half done.
func (t *Target) Outlook(ctx context.Context, skip []string) (Outlook, error) {
	var o Outlook
	program, checked, err := t.Program(ctx, skip)
	if err != nil {
		return o, err
	}
	if o.Plan, err = t.Engine.Preview(ctx, program.Program); err != nil {
		return o, err
	}
	shelved, err := t.Asleep(ctx, checked)
	if err != nil {
		return o, err
	}
	if shelved && !o.Empty() {
		o.Shelved = t.ErrShelved()
	}
	o.Forecast, err = t.Forecast(ctx, program, o.Plan, checked.Quota)
	return o, err
}
