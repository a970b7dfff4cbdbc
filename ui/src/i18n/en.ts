// All words of the page in English; the type of this object is what every language has to fill. Values are texts or
// functions of typed arguments: nothing is put together from words anywhere else.

export const en = {
  brand: "Everflame",
};

export type Text = typeof en;
