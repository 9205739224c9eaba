"""Pages for browsers: plain HTML without scripts or external resources.

To add a page:

1. Subclass `login.Page`: `show` answers GET, `submit` POST from this site; an `EngrainError` becomes the error page.
2. Make the HTML with `layout.render(title, body)`, and pass whatever comes from outside through `layout.text`.
3. Get the visitor from `layout.visitor_of(scope)`; without one, return `layout.see(layout.login_address(scope))`.
4. Read fields by `await bodies.read_form(scope, receive)`, and call an operation of the catalogue by
   `self.endpoints[name].call(scope, fields)`: rights, limits and audit are those of REST.
5. Add it to `rest_bridge.application.PAGES`.
"""
