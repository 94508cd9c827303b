package browser

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// TestPictures: edges of letters may be drawn otherwise; what is missing, or elsewhere, is
// found, and a picture is what it was when it is read again.
func TestPictures(t *testing.T) {
	t.Parallel()
	paint := func(at image.Rectangle, c color.Color) *image.RGBA {
		all := image.NewRGBA(image.Rect(0, 0, 200, 100))
		draw.Draw(all, all.Bounds(), image.White, image.Point{}, draw.Src)
		draw.Draw(all, at, image.NewUniform(c), image.Point{}, draw.Src)
		return all
	}
	box := image.Rect(10, 10, 60, 30)
	one := paint(box, color.Gray{40})
	for name, test := range map[string]struct {
		other image.Image
		same  bool
	}{
		"itself":         {one, true},
		"a shade":        {paint(box, color.Gray{90}), true},
		"another colour": {paint(box, color.RGBA{180, 40, 40, 255}), false},
		"elsewhere":      {paint(box.Add(image.Pt(8, 0)), color.Gray{40}), false},
		"nothing":        {paint(image.Rectangle{}, color.Black), false},
		"another size":   {image.NewRGBA(image.Rect(0, 0, 200, 99)), false},
	} {
		if off, err := differ(one, test.other); (err == nil && off <= mostPixels) != test.same {
			t.Errorf("%s: %.4f are off, %v", name, off, err)
		}
	}
	file := filepath.Join(t.TempDir(), "docs", "one.png")
	if err := write(file, one); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	again, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if off, err := differ(one, again); off != 0 || err != nil {
		t.Errorf("%.4f are off, %v", off, err)
	}
}
