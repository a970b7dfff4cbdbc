// Chooses a profile type among those that the selection has, by the names that people know.

import { typeName, useText } from "../i18n/index.ts";
import { type ProfileType, readType } from "../state/profile-type.ts";
import { Icon } from "../widgets/icon.tsx";
import { Menu } from "../widgets/menu.tsx";

interface Props {
  readonly types: readonly string[];
  readonly chosen: ProfileType | null;
  readonly onChoose: (full: string) => void;
}

export function TypeMenu({ types, chosen, onChoose }: Props) {
  const text = useText();
  const all = types.map(readType);
  const name = typeName(text, chosen);
  return (
    <Menu
      label={`${text.filters.type}: ${name}`}
      button={
        <>
          <span>{name || text.filters.type}</span>
          <Icon name="down" />
        </>
      }
      disabled={all.length === 0}
      sections={[
        {
          title: text.filters.type,
          items: all.map((type) => ({
            key: type.full,
            label: typeName(text, type),
            // Two types may have one name; the profile's own words tell them apart.
            hint: `${type.name}:${type.sample}`,
            checked: type.full === chosen?.full,
            act: () => onChoose(type.full),
          })),
        },
      ]}
    />
  );
}
