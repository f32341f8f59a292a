package dev.verbena.verbs;

import java.util.StringJoiner;

/** The text of attributes that a query returned: the name and the value of each, as of a record. */
final class AttributeText {
  private final StringJoiner text;

  AttributeText(Class<?> attributes) {
    this.text = new StringJoiner(", ", attributes.getSimpleName() + "[", "]");
  }

  AttributeText add(String name, Object value) {
    text.add(name + "=" + value);
    return this;
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
