"""Pages for browsers: signing in, and consent to programs. Plain HTML without scripts or external resources.

To add a page:

1. Subclass `endpoint.Page` in a module of its own. `show` answers GET, `submit` answers POST; both return a
   `Response`. A POST from another site's page never reaches `submit`, and an `EngrainError` becomes the error page.
2. Make the HTML with `layout.render(title, body)`. Whatever comes from outside goes through `layout.text`.
   Forms post to the page itself: `form_targets` names where else a submission may lead.
3. `visitors.visitor_of(scope)` is who is signed in, by the session cookie alone. For nobody, return
   `visitors.to_login(scope)`: the person comes back to the same address afterwards.
4. Fields come from `await forms.read_form(scope, receive)`. A deed that is an operation of the catalogue is done by
   `self.operations.answer(name, scope, fields)`: the same rights, limits and audit as over REST.
5. Add a route to `routes.build_pages`.
"""
