package dev.verbena.internal;

import java.util.StringJoiner;

/** The text of attributes that a query returned: the name and the value of each, as of a record. */
public final class AttributeText {
  private final StringJoiner text;

  public AttributeText(Class<?> attributes) {
    this.text = new StringJoiner(", ", attributes.getSimpleName() + "[", "]");
  }

  public AttributeText add(String name, Object value) {
    text.add(name + "=" + value);
    return this;
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
