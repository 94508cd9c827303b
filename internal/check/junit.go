package check

import (
	"encoding/xml"
	"fmt"
)

type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Time     string   `xml:"time,attr"`
	Begun    string   `xml:"timestamp,attr"`
	Cases    []item   `xml:"testcase"`
}

type item struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr"`
	Failure *message `xml:"failure"`
	Skipped *message `xml:"skipped"`
	Out     string   `xml:"system-out,omitempty"`
}

type message struct {
	Message string `xml:"message,attr"`
}

// JUnit is the result as JUnit's XML.
func (r Result) JUnit() ([]byte, error) {
	s := suite{Name: "slipway check " + r.Check + " of " + r.Cluster, Tests: len(r.Steps), Time: seconds(r.Seconds), Begun: r.Begun.Format("2006-01-02T15:04:05")}
	for _, step := range r.Steps {
		one := item{Name: step.Name, Class: "slipway.check." + r.Check, Time: seconds(step.Seconds)}
		switch step.State {
		case Failed:
			s.Failures++
			one.Failure = &message{step.Detail}
		case Skipped:
			s.Skipped++
			one.Skipped = &message{step.Detail}
		default:
			one.Out = step.Detail
		}
		s.Cases = append(s.Cases, one)
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing JUnit's XML: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
